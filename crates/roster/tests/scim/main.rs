//! The SCIM interface over sockets, over each engine. Every exchange is checked against the API
//! description.
//!
//! The cases cover the rules of RFC 7643, RFC 7644 and RFC 9865 by topic, what clients are known to
//! send, and where other servers are known to fail.
#![expect(clippy::expect_used, clippy::panic, reason = "this is how a case fails")]
#![expect(clippy::indexing_slicing, reason = "a missing element fails the case")]
#![expect(clippy::format_push_string, reason = "clearer than writing with errors that cannot be")]

mod access;
mod both_interfaces;
mod bulk;
mod clients;
mod declared;
mod discovery;
mod elsewhere;
mod errors;
mod filters;
mod groups;
mod judge;
mod lists;
mod patch_rules;
mod patches;
mod people;
mod profiles;
mod random_filters;
mod retries;
mod round_trips;
mod searches;
mod support;
mod users;
mod walks;
mod work;
mod writes;

use roster_core::UserSchema;
use roster_test_service::{
    cases::{Case, run, run_all},
    client,
    service::{self, Engine},
    store,
};
use roster_testkit::openapi::Description;

macro_rules! tests {
    ($engine:ident: $($module:ident::$case:ident,)*) => {
        $(
            #[test]
            fn $case() {
                crate::run(crate::Engine::$engine, crate::$module::$case);
            }
        )*
    };
}

macro_rules! cases {
    ($(mod $module:ident { $($case:ident,)* })*) => {
        mod oracle {
            tests! { Oracle: $($($module::$case,)*)* }
        }

        mod sqlite {
            tests! { Sqlite: $($($module::$case,)*)* }
        }

        mod postgres {
            tests! { Postgres: $($($module::$case,)*)* }
        }

        /// Every case, for the ledger.
        fn all_cases() -> Vec<(&'static str, Case)> {
            vec![$($((stringify!($case), |backend| Box::pin($module::$case(backend))),)*)*]
        }
    };
}

/// Cases with several processes over one database.
mod processes {
    tests! { Postgres:
        walks::a_list_after_deletions_has_each_user_once,
        walks::a_walk_by_index_through_three_processes_loses_nobody,
        walks::walks_that_cross_between_processes_lose_nobody,
    }
}

/// A case with more users than the store examines for a page. The oracle examines all.
mod crowds {
    tests! { Sqlite: walks::a_page_that_the_last_match_fills_has_the_exact_total, }
}

cases! {
    mod work {
        a_patch_that_compares_too_much_is_refused_and_changes_nothing,
        a_long_patch_is_executed_once_and_can_be_sent_again,
        a_long_patch_keeps_the_changes_that_others_make_meanwhile,
        the_operations_of_a_bulk_share_their_comparisons,
    }
    mod users {
        c1_a_new_user_is_201_with_its_place_and_its_whole_self,
        c2_what_is_read_only_is_passed_over,
        c3_null_empty_and_absent_are_the_same,
        c4_an_id_is_the_services_own_and_stays,
        c5_an_external_id_is_the_clients_and_case_sensitive,
        c6_meta_says_what_the_headers_say,
        c7_a_put_never_creates_and_answers_the_whole_user,
        c8_a_put_clears_what_it_leaves_out_and_needs_a_user_name,
        c9_a_deleted_user_is_gone_and_its_name_is_free,
        c10_a_password_is_never_kept,
        c11_one_value_at_most_is_primary,
        c12_countries_languages_and_zones_follow_their_standards,
        c13_schemas_name_what_is_in_use,
        a_duplicate_in_another_case_is_a_conflict,
        a_user_name_is_prepared_before_it_is_compared,
        every_attribute_of_the_tables_comes_back_as_it_was_sent,
    }
    mod writes {
        a_stale_tag_is_refused_weak_or_strong,
        a_known_version_is_not_sent_again,
        a_write_that_changes_nothing_keeps_version_and_moment,
        minimal_leaves_the_user_out_unless_attributes_are_asked_for,
        a_projection_applies_to_every_response_with_a_user,
        a_repeated_request_is_answered_as_the_first_time,
        the_change_log_tells_of_writes_by_scim_as_of_all_others,
    }
    mod retries {
        a_repeated_patch_of_a_user_is_executed_once,
        a_patch_is_replayed_even_if_it_would_fail_now,
        a_repeated_patch_of_a_group_is_executed_once,
        of_simultaneous_equal_patches_one_is_executed,
        a_bulk_request_takes_no_idempotency_key,
        a_write_that_did_not_begin_in_time_is_not_made,
    }
    mod lists {
        q1_a_page_has_its_total_and_start_index,
        q2_attributes_are_included_and_excluded_by_name,
        q9_an_index_beyond_the_end_is_an_empty_page,
        q9_a_total_beyond_the_counted_maximum_is_a_lower_bound,
        q10_lists_are_sorted_by_indexed_attributes_only,
        q11_indexes_and_counts_are_clamped,
        q12_the_last_page_by_cursor_has_no_next_cursor,
        q13_pages_use_an_index_unless_a_cursor_is_requested,
        q14_a_cursor_is_valid_for_its_caller_its_query_and_a_day,
        q15_a_search_by_post_returns_the_same_list,
        unknown_parameters_are_ignored,
        a_page_of_many_megabytes_is_a_long_list_however_few_users_it_has,
    }
    mod searches {
        users_come_before_groups_and_pages_go_across_the_border,
        without_a_count_a_page_has_a_hundred,
        a_search_finds_of_each_kind_what_its_filter_speaks_of,
        a_search_shows_of_each_kind_the_attributes_that_it_has,
        a_search_is_ordered_by_id_and_refuses_what_it_cannot_do,
        a_walk_over_everything_misses_no_user_when_others_are_deleted,
        groups_wait_for_users_that_a_page_had_no_room_for,
        a_page_by_index_reads_only_so_many_users,
    }
    mod filters {
        q3_every_operator_finds_whom_it_should,
        q4_names_are_qualified_and_paths_go_into_parts,
        q5_brackets_bind_to_one_value,
        q6_moments_are_compared_as_moments_and_flags_not_at_all,
        q7_what_does_not_parse_is_refused_with_its_place,
        q8_an_unknown_attribute_is_refused_with_those_there_are,
        q8_where_all_kinds_are_searched_one_of_another_kind_has_no_value,
        a_filtered_list_is_paged_and_counted_like_any_other,
        a_change_moves_a_user_into_a_filter_at_once,
        a_filter_in_a_url_is_refused_where_the_settings_say_so,
    }
    mod random_filters {
        random_filters_find_the_expected_users,
    }
    mod groups {
        a_group_is_created_with_its_members_in_one_write,
        a_put_of_a_group_replaces_its_members,
        members_are_added_and_removed_by_the_patches_of_clients,
        a_patch_of_a_group_returns_what_prefer_and_parameters_ask_for,
        groups_are_found_by_the_filters_of_clients,
        excluded_members_are_not_read,
        a_user_shows_its_direct_groups,
        an_invalid_group_is_a_scim_error,
        groups_are_paged_like_users,
        a_stale_write_of_a_group_is_refused,
        a_deleted_group_is_gone,
    }
    mod patches {
        a_patch_answers_the_whole_user_and_is_kept,
        a_patch_that_changes_nothing_leaves_no_trace,
        a_patch_is_executed_completely_or_not_at_all,
        what_providers_send_is_understood,
        a_patch_checks_the_named_version,
        patches_at_once_lose_nothing,
        a_changed_address_loses_its_proof_unless_the_patch_names_it,
        a_user_expires_by_an_attribute_of_the_extension,
        an_addition_of_nothing_keeps_the_manager,
        operations_see_an_address_as_a_response_shows_it,
        an_address_with_and_without_the_type_stays_so,
    }
    mod patch_rules {
        p1_operations_are_in_order_and_atomic,
        p2_a_removal_needs_a_path_and_others_do_not,
        p3_a_path_that_is_none_is_refused,
        p4_adding_appends_merges_and_leaves_what_is_there,
        p5_removing_unassigns_but_not_what_is_required,
        p6_replacing_adds_merges_and_misses,
        p7_becoming_primary_takes_the_flag_from_the_others,
        p8_what_the_service_makes_is_refused,
        p9_an_attribute_of_an_extension_brings_its_urn,
        p10_the_answer_is_the_user_or_nothing_by_wish,
    }
    mod bulk {
        b1_each_operation_has_its_own_result,
        b1_references_are_resolved_in_any_order,
        b1_a_group_is_created_with_users_of_the_same_request,
        b1_fail_on_errors_skips_the_rest,
        b2_a_request_beyond_a_limit_is_413_and_names_it,
        a_malformed_bulk_request_changes_nothing,
        a_key_revoked_during_a_bulk_request_stops_it,
        the_first_key_stops_a_bulk_request_without_a_credential,
        a_bulk_request_fails_while_keys_cannot_be_read,
        operations_beyond_the_rate_limit_are_429_each,
    }
    mod walks {
        paging_by_index_misses_no_user_when_others_are_deleted,
        paging_by_cursor_misses_no_user_when_others_are_deleted,
        two_simultaneous_readers_miss_no_user,
        an_index_without_a_stored_position_is_found,
        walks_of_two_questions_do_not_meet,
    }
    mod profiles {
        booleans_as_strings_are_accepted_at_every_depth,
        names_are_case_insensitive,
        unknown_attributes_and_schemas_are_ignored,
        a_dot_may_follow_the_urn_of_a_schema,
        one_object_may_come_in_a_list,
        a_condition_in_a_projection_is_ignored,
        a_body_without_a_media_type_is_json,
        invalid_values_of_identity_providers_are_stored_unchanged,
        a_manager_is_a_text_or_a_value,
        an_entry_that_is_sent_as_empty_is_left_out,
        strict_parsing_rejects_deviations,
    }
    mod discovery {
        the_configuration_tells_what_works,
        the_service_document_tells_the_same_limits,
        resource_types_and_schemas_are_single_and_listed,
        discovery_cannot_be_filtered_or_changed,
        me_is_not_implemented,
    }
    mod elsewhere {
        active_is_switched_off_by_a_text,
        a_patch_without_a_path_takes_dotted_and_qualified_names,
        another_address_that_becomes_primary_is_the_only_one,
        tolerant_parsing_adds_a_missing_typed_value_on_replace,
        adding_to_a_typed_value_that_is_not_there_makes_it,
        a_user_name_cannot_be_removed,
        an_id_is_never_replaced_and_an_equal_one_is_passed_over,
        a_second_operation_that_fails_takes_the_first_back,
        a_put_upon_another_version_is_refused,
        a_count_of_zero_returns_only_the_total,
        discovery_is_not_filtered,
        a_bare_cursor_begins_a_walk,
        filters_that_others_misread_are_read_by_the_letter,
    }
    mod errors {
        every_refusal_below_the_face_has_the_form_of_scim,
        forms_that_are_not_spoken_are_refused,
        failures_of_the_store_tell_nothing,
        another_version_of_the_protocol_is_not_spoken,
        a_body_with_many_faults_is_a_short_error,
        a_query_of_more_than_64_parameters_is_refused_in_one_sentence,
    }
    mod declared {
        a_declared_extension_is_advertised,
        declared_attributes_are_created_read_and_replaced,
        declared_attributes_are_patched,
        declared_attributes_are_filtered_and_projected,
        declared_attributes_are_checked_and_others_are_dropped,
                dropped_attributes_of_a_patch_and_of_a_group_are_counted,
        a_bulk_request_sets_declared_attributes,
        declared_attributes_can_be_unique_and_an_order,
        what_a_response_returned_stays_as_it_is_stored,
        a_declared_number_is_compared_with_fractions,
        a_declared_attribute_has_one_name_in_a_request,
    }
    mod clients {
        memberships_can_be_filtered,
        groups_are_sorted_by_name,
        what_is_shown_is_in_the_schemas,
        a_put_keeps_what_its_client_did_not_send,
        the_schema_tells_the_policy_of_addresses,
        an_address_without_a_type_is_a_work_address,
        a_group_may_stand_below_its_urn,
        an_extensions_attribute_may_come_without_its_urn,
        a_slash_at_the_end_of_a_path_is_accepted,
        a_tag_changes_with_the_groups_that_are_shown,
        a_malformed_address_is_kept_by_a_tolerant_reader,
        a_manager_is_found_by_its_id,
        a_large_group_can_be_read_and_put,
        long_lists_of_long_entitlements_are_kept,
    }
    mod round_trips {
        users_that_scim_tolerated_are_imported_as_they_were_exported,
        a_line_that_is_no_whole_record_must_follow_every_rule,
    }
    mod access {
        the_scim_scope_allows_scim_and_nothing_else,
        a_request_without_a_credential_is_401,
    }
    mod both_interfaces {
        both_interfaces_show_the_same_user,
        a_put_keeps_what_its_interface_does_not_show,
        one_version_serves_both_tags,
    }
}

#[test]
fn every_documented_answer_was_seen() {
    let backend = run_all(all_cases());
    let document = roster_http::description::openapi("http://roster.test", &UserSchema::default());
    let description = Description::load(&document).expect("the document is read");
    let unseen = backend.seen.ledger.unobserved(&description, &[]);
    let unseen: Vec<_> =
        unseen.into_iter().filter(|(operation, _)| operation.starts_with("scim")).collect();
    assert_eq!(unseen, [], "documented, but never given");
}
