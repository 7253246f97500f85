//! What `docs/promises.md` says of a store, as cases that every store must pass. A file names its
//! promise.
//!
//! A case is a function that acts on an empty store. [`crate::conformance!`] makes one test of each
//! case for each engine, so that a failure reads `sqlite::replace_with_a_stale_version_is_refused`.
//! No case knows an engine.
#![expect(missing_docs, reason = "the name of a case is its sentence")]
#![expect(clippy::missing_panics_doc, reason = "a case that fails panics; that is its purpose")]
#![expect(clippy::expect_used, clippy::panic, reason = "this is how a case fails")]
#![expect(clippy::indexing_slicing, reason = "a missing element fails the case")]

pub mod audit;
pub mod conflict;
pub mod create;
pub mod deleted;
pub mod dry_run;
pub mod erasure;
pub mod events;
pub mod expiry;
pub mod filter;
pub mod forget;
pub mod group_lists;
pub mod grouping;
pub mod groups;
pub mod guards;
pub mod harness;
pub mod idempotency;
pub mod indexes;
pub mod keys;
pub mod list;
pub mod log;
pub mod membership;
pub mod order;
pub mod preconditions;
pub mod purge;
pub mod races;
pub mod reads;
pub mod replace;
pub mod restore;
pub mod schema;
pub mod search;
pub mod sharing;
pub mod start;
pub mod tenants;
pub mod text;
pub mod uniqueness;
pub mod webhooks;

pub use harness::{Harness, Subject, run};
pub use reads::Image;

use roster_core::{Guard, Rules, Sharing};

/// The default rules.
pub const DEFAULT: Rules = Rules {
    email: Sharing::Unique,
    external_id: Sharing::Shared,
    put: Guard::Off,
    delete: Guard::Off,
};

/// Makes a module of tests, one for each case, on the subjects that a function makes:
/// `conformance!(sqlite, open)` with `fn open(rules: Rules) -> Subject` beside it.
#[macro_export]
macro_rules! conformance {
    ($subject:ident, $factory:ident) => {
        mod $subject {
            use super::$factory;

            $crate::conformance_cases! { $factory, create:
                a_created_user_is_read_back_unchanged,
                a_new_user_is_active_and_at_version_one,
                a_user_may_be_created_suspended,
                created_at_and_updated_at_of_a_new_user_are_the_moment_of_its_id,
                server_set_members_are_ignored_on_a_create,
                a_username_that_is_the_email_follows_it,
                a_user_without_username_and_email_is_refused,
                any_address_is_the_username_of_a_user_without_one,
                a_taken_default_username_is_reported_as_default,
                a_refused_create_changes_nothing,
                an_unknown_id_returns_none,
                an_empty_store_serves_every_read,
                the_event_of_a_create_has_actor_user_and_time,
            }
            $crate::conformance_cases! { $factory, replace:
                replace_clears_what_is_omitted_but_status_and_username,
                null_username_and_status_are_kept_by_a_replacement,
                each_real_change_is_one_version_and_one_event,
                a_write_that_changes_nothing_stores_nothing,
                null_and_empty_and_absent_mean_the_same_on_a_write,
                the_id_of_the_body_must_be_the_one_of_the_path,
                updated_at_never_goes_back_when_the_clock_does,
                a_patch_merges_and_null_removes,
                a_patch_that_is_not_an_object_is_rejected,
                a_deleted_user_moves_to_the_deleted_users,
                an_unknown_user_cannot_be_replaced_patched_or_deleted,
                a_batch_is_executed_in_order,
                an_empty_batch_changes_nothing,
                an_acknowledged_write_is_read_at_once,
            }
            $crate::conformance_cases! { $factory, preconditions:
                replace_with_a_stale_version_is_refused,
                replace_with_the_current_version_is_executed,
                patch_and_delete_with_a_stale_version_are_refused,
                a_stale_version_in_the_body_is_refused_in_replace_and_patch,
                header_and_body_version_must_both_hold,
                a_stale_version_is_refused_even_where_nothing_would_change,
                if_none_match_refuses_the_versions_it_names,
                not_found_is_reported_before_any_precondition,
                a_stale_version_is_reported_before_an_invalid_user,
                an_invalid_user_is_reported_before_a_taken_name,
                a_stale_version_is_reported_before_a_taken_name,
                a_read_and_write_back_of_another_member_loses_no_update,
            }
            $crate::conformance_cases! { $factory, erasure:
                a_long_history_is_hidden_at_once,
                a_long_history_does_not_hide_the_events_of_others,
                keys_of_a_long_history_can_be_used_again_at_once,
                the_purge_of_a_long_history_is_replayed,
                erasing_a_user_that_has_nothing_left_does_nothing,
            }
            $crate::conformance_cases! { $factory, guards:
                a_guarded_replace_that_clears_members_names_them,
                a_guarded_replace_that_clears_nothing_needs_no_precondition,
                any_precondition_satisfies_the_guard,
                a_guarded_delete_needs_a_precondition,
                a_guarded_purge_needs_a_precondition_and_a_restore_does_not,
                a_replacement_of_a_holder_is_guarded_like_any,
            }
            $crate::conformance_cases! { $factory, membership:
                users_are_found_by_their_direct_group,
                memberships_are_negated_and_joined_to_other_conditions,
                a_filter_sees_each_change_of_a_group_at_once,
            }
            $crate::conformance_cases! { $factory, schema:
                a_new_store_declares_nothing,
                a_replaced_schema_is_applied_to_the_next_write,
                stored_values_are_not_checked_against_a_new_schema,
                a_stale_version_of_the_schema_is_refused,
                an_equal_schema_changes_nothing,
                a_dry_run_of_a_schema_stores_nothing,
                a_replaced_schema_is_an_event,
                a_repeated_schema_command_is_executed_once,
                a_schema_command_without_an_effect_is_repeated,
            }
            $crate::conformance_cases! { $factory, indexes:
                an_index_finds_the_users_that_the_filter_matches,
                users_are_listed_in_the_order_of_an_index,
                an_index_is_built_while_users_change,
                values_of_another_type_are_found_as_before,
                a_unique_value_belongs_to_one_user,
                a_unique_value_selects_the_user_that_exists,
                shared_values_fail_a_unique_index_until_they_differ,
                a_comparison_of_values_reads_at_most_its_pages,
                a_dropped_index_leaves_nothing,
            }
            $crate::conformance_cases! { $factory, tenants:
                a_tenant_is_found_by_its_name_as_it_was_changed_last,
                a_dry_run_of_a_tenant_stores_nothing,
                tenants_are_listed_in_the_order_of_their_names,
                tenants_have_users_of_their_own,
                a_tenant_with_its_maximum_of_users_rejects_another,
                a_deleted_tenant_is_kept_and_restored,
                a_purged_tenant_is_erased_and_its_name_is_free,
                the_events_of_all_tenants_have_one_order,
            }
            $crate::conformance_cases! { $factory, uniqueness:
                a_username_is_unique_by_its_key,
                usernames_with_different_keys_do_not_conflict,
                an_email_is_unique_by_its_key,
                dots_and_tags_of_an_email_are_not_folded,
                only_the_primary_email_is_unique,
                all_taken_values_are_reported_together,
                a_later_write_cannot_claim_a_taken_value,
                a_user_may_respell_its_own_name_and_address,
                a_deleted_user_frees_its_name_and_address,
                a_changed_name_and_address_are_free_at_once,
                a_cleared_address_is_free_at_once,
                names_are_taken_and_freed_within_one_batch,
                two_users_swap_names_by_way_of_a_third_name,
                the_external_id_may_be_shared_by_default,
            }
            $crate::conformance_cases! { $factory, sharing:
                shared_mailboxes_are_allowed_by_the_setting,
                a_create_can_match_by_the_external_id,
                an_external_id_is_unique_by_the_setting,
                an_external_id_is_compared_exactly,
                users_without_an_external_id_do_not_clash,
                a_restore_checks_the_external_id_and_not_a_shared_mailbox,
                a_conflict_of_external_ids_follows_on_conflict,
            }
            $crate::conformance_cases! { $factory, expiry:
                a_time_of_expiry_is_stored_in_utc_with_milliseconds,
                what_is_no_time_is_rejected,
                filters_compare_times_of_expiry,
                expired_users_are_found_earliest_first,
                only_active_users_of_tenants_that_are_not_deleted_expire,
            }
            $crate::conformance_cases! { $factory, order:
                names_are_ordered_by_code_point_of_their_folded_key,
                family_names_are_ordered_like_names,
                usernames_and_emails_are_ordered_by_key,
                absent_values_sort_last_ascending_and_first_descending,
                by_default_users_are_in_order_of_creation,
                the_latest_change_moves_a_user_to_the_end,
                every_order_holds_with_ties_and_absent_values_at_every_page_size,
                a_range_excludes_users_without_a_value_on_every_page,
            }
            $crate::conformance_cases! { $factory, list:
                paging_returns_every_user_that_exists_throughout_exactly_once,
                paging_continues_after_a_deleted_row,
                a_position_before_or_after_all_users_is_accepted,
                conditions_are_compared_by_key,
                a_condition_tests_only_the_primary_address,
                every_condition_holds_alone_and_together_in_every_order,
                a_total_is_given_when_it_is_asked_for,
                a_limit_of_zero_returns_only_position_and_total,
                the_last_page_has_no_next_even_when_it_is_full,
                a_page_ends_early_at_its_byte_limit,
                paging_with_few_examined_rows_returns_the_same_users,
                paging_with_few_comparisons_returns_the_same_users,
                a_page_whose_comparisons_end_between_two_portions_of_rows_goes_on,
                with_many_users_totals_are_bounded_and_paging_is_complete,
            }
            $crate::conformance_cases! { $factory, text:
                nul_is_rejected_everywhere,
                sql_metacharacters_are_plain_text,
                the_longest_keys_are_kept_compared_and_walked,
                a_record_of_the_maximum_size_is_stored_and_a_larger_one_rejected,
                every_script_is_read_back_as_nfc,
                numbers_in_custom_attributes_keep_their_value,
            }
            $crate::conformance_cases! { $factory, log:
                events_are_dense_from_one_and_in_order,
                replaying_the_log_gives_exactly_the_stored_users,
                the_versions_of_a_user_follow_each_other_in_the_log,
                an_event_names_the_members_that_changed,
                a_page_and_its_position_are_consistent,
                the_growth_of_the_log_is_noticed,
                counters_follow_every_change,
                the_store_keeps_one_secret_and_one_log_id,
            }
            $crate::conformance_cases! { $factory, races:
                exactly_one_of_many_creates_of_a_username_succeeds,
                exactly_one_of_many_creates_of_an_email_succeeds,
                exactly_one_of_many_replaces_of_a_version_succeeds,
                exactly_one_of_many_deletes_of_a_user_succeeds,
                exactly_one_of_many_requests_with_one_idempotency_key_is_executed,
                exactly_one_of_many_restores_and_purges_of_a_user_succeeds,
                no_concurrent_change_is_lost,
                paging_during_writes_returns_every_user_that_exists_throughout_exactly_once,
            }
            $crate::conformance_cases! { $factory, restore:
                a_restored_user_is_unchanged_with_the_next_version,
                a_restored_user_keeps_its_status,
                a_restore_has_an_event,
                a_restore_brings_the_groups_back_if_asked_to,
                a_restore_is_refused_while_another_holds_its_name_or_address,
                two_holders_of_name_and_address_are_reported_together,
                a_restore_succeeds_after_the_holder_is_renamed,
                a_secondary_address_of_another_user_does_not_block_a_restore,
                a_restored_user_holds_its_name_and_address_again,
                only_one_of_two_deleted_users_with_one_name_can_be_restored,
                a_restore_checks_preconditions,
                a_restore_reports_a_stale_version_before_a_taken_name,
                only_a_deleted_user_can_be_restored,
                a_user_can_be_deleted_and_restored_many_times_in_one_batch,
                updated_at_never_goes_back_at_a_restore,
                a_restored_user_is_in_every_list,
            }
            $crate::conformance_cases! { $factory, purge:
                a_purged_user_cannot_be_read_or_restored,
                a_purge_empties_the_records_of_all_its_events,
                the_event_of_a_purge_contains_no_personal_data,
                a_live_user_cannot_be_purged,
                a_purge_checks_preconditions,
                counters_follow_a_purge,
                the_log_replays_to_the_live_users_after_a_purge,
                a_create_delete_and_purge_in_one_batch_leaves_no_record,
                the_events_of_a_purged_user_keep_kind_and_version,
                searches_and_filters_do_not_find_a_purged_user,
            }
            $crate::conformance_cases! { $factory, deleted:
                a_deleted_user_is_kept_with_its_deletion_time,
                live_and_unknown_users_are_not_among_the_deleted,
                deleted_users_are_listed_by_deletion_time,
                deleted_users_can_be_filtered,
                deleted_users_can_be_searched,
                by_default_the_latest_deletion_is_first,
                a_page_of_deleted_users_has_a_total_and_a_position,
                deleted_users_can_be_limited_by_deletion_time,
                the_last_page_of_deleted_users_has_no_next_even_when_it_is_full,
                a_page_of_deleted_users_ends_early_at_its_byte_limit,
                a_position_before_or_after_all_deleted_users_is_accepted,
                paging_deleted_users_returns_each_that_stays_exactly_once,
            }
            $crate::conformance_cases! { $factory, idempotency:
                a_repeated_request_is_executed_once,
                a_stored_result_can_be_recalled,
                every_kind_of_write_is_replayed,
                a_replay_returns_the_user_of_the_first_response,
                an_outcome_without_a_change_is_replayed,
                one_key_for_two_requests_is_refused,
                two_keys_are_two_requests,
                a_rejected_request_stores_no_result,
                a_key_is_looked_up_before_any_precondition,
                a_key_is_honoured_within_one_batch,
                a_batch_changes_a_user_between_a_request_and_its_replay,
                a_result_is_replayed_until_it_is_deleted,
                a_clock_set_back_expires_no_record,
                a_purge_deletes_the_records_of_its_user,
            }
            $crate::conformance_cases! { $factory, keys:
                a_store_is_open_until_the_first_key,
                a_caller_without_a_key_creates_the_first_one_alone,
                a_key_is_stored_as_it_was_created,
                unchanged_keys_are_not_returned_again,
                both_secrets_of_a_rotated_key_are_valid_for_the_overlap,
                a_revoked_key_stays_revoked,
                an_expired_key_is_rejected,
                a_wrong_secret_is_rejected,
                an_unknown_key_cannot_be_rotated_or_revoked,
                a_repeated_key_change_has_no_effect,
                only_one_key_is_the_first,
                a_full_keyring_replaces_the_key_that_ended_first,
                the_use_of_a_key_is_noted_and_is_no_change,
            }
            $crate::conformance_cases! { $factory, groups:
                a_created_group_is_read_back_unchanged,
                a_group_name_is_unique_by_its_key,
                a_group_that_has_the_name_is_changed_if_the_command_says_how,
                writes_of_groups_follow_the_rules_of_users,
                adding_or_removing_a_member_changes_only_the_group,
                all_members_can_be_replaced_together,
                an_unknown_id_cannot_become_a_member,
                a_deleted_user_leaves_its_groups_and_a_restore_does_not_rejoin_them,
                several_users_leave_one_group_in_one_batch,
                a_deleted_group_leaves_the_groups_it_was_in,
                cycles_of_groups_are_rejected,
                groups_can_be_nested_up_to_the_maximum_depth,
                one_of_two_concurrent_joins_that_form_a_cycle_is_rejected,
                a_concurrently_deleted_user_does_not_stay_a_member,
                too_many_members_in_a_request_are_rejected,
                a_page_of_members_has_the_group_the_total_and_the_next_id,
                the_groups_of_many_users_are_read_together,
                many_groups_of_many_users_are_complete,
                a_repeated_group_command_is_executed_once,
                a_dry_run_of_a_group_command_stores_nothing,
                the_log_replays_to_the_groups,
            }
            $crate::conformance_cases! { $factory, group_lists:
                groups_are_listed_by_every_condition,
                a_page_of_tested_groups_ends_early_and_the_next_goes_on,
            }
            $crate::conformance_cases! { $factory, conflict:
                every_on_conflict_mode_creates_without_a_conflict,
                a_conflict_is_rejected_by_default,
                on_conflict_skip_returns_the_holder,
                on_conflict_replace_replaces_the_holder,
                a_replacement_ignores_server_set_members,
                a_replacement_that_changes_nothing_is_unchanged,
                two_different_holders_reject_a_replacement,
                on_conflict_skip_returns_the_holder_of_the_username_first,
                an_invalid_user_is_rejected_in_every_on_conflict_mode,
                a_default_username_selects_no_user,
                a_conflict_is_found_within_one_batch,
                a_name_freed_earlier_in_a_batch_is_no_conflict,
                a_deleted_holder_is_no_conflict,
                a_match_by_the_external_id_needs_the_policy,
                a_merge_keeps_the_members_that_the_body_omits,
                a_repeated_request_that_was_skipped_gets_the_same_user,
                a_replaced_holder_frees_its_old_name_and_words,
            }
            $crate::conformance_cases! { $factory, dry_run:
                a_dry_run_returns_what_the_write_returns,
                a_dry_run_claims_no_name,
                a_dry_run_ignores_idempotency_records,
                a_dry_run_changes_no_list,
                a_dry_run_has_the_time_of_the_write,
                dry_runs_do_not_disturb_writers,
            }
            $crate::conformance_cases! { $factory, filter:
                each_operator_compares_texts_without_regard_to_case,
                names_and_operators_ignore_case,
                usernames_and_addresses_are_compared_by_key,
                case_exact_members_are_compared_exactly,
                custom_attributes_are_compared_by_type,
                one_entry_must_match_all_tests_in_brackets,
                flags_status_and_times_are_compared_by_type,
                a_time_between_two_milliseconds_is_compared_exactly,
                sw_compares_the_start_of_an_address_as_sent,
                sql_and_json_metacharacters_are_plain_text_in_filters,
                and_binds_closer_than_or_and_brackets_bind_closest,
                a_filter_sees_each_write_at_once,
                an_address_shared_by_several_users_finds_each_once,
                a_filter_holds_with_every_condition_order_and_page_size,
                filtered_paging_returns_every_matching_user_exactly_once,
                a_filter_and_a_search_can_be_combined,
                a_limit_of_zero_counts_matching_users,
            }
            $crate::conformance_cases! { $factory, search:
                a_user_is_found_as_soon_as_it_is_written,
                a_word_is_found_only_by_its_start,
                all_words_must_match_in_any_member,
                search_ignores_case_width_and_composition,
                a_mail_address_is_found_by_its_parts,
                punctuation_separates_words_and_matches_nothing,
                chinese_text_without_spaces_is_found_from_its_start,
                a_renamed_user_is_found_only_by_its_new_name,
                a_word_in_two_members_is_found_until_both_are_removed,
                a_user_with_several_matching_words_is_returned_once,
                a_deleted_user_is_not_found_until_it_is_restored,
                words_follow_every_write_of_one_batch,
                a_rejected_write_does_not_change_search_words,
                a_search_can_be_paged_counted_and_sorted,
                a_word_of_many_users_is_found_in_every_order,
                users_with_two_common_words_are_found_by_the_index,
            }
            $crate::conformance_cases! { $factory, webhooks:
                a_webhook_is_stored_as_it_was_created,
                a_webhook_for_all_tenants_is_changed_by_the_operator_alone,
                events_of_a_webhook_have_the_times_of_its_changes,
                a_webhook_that_was_changed_is_not_ended,
                a_dry_run_is_refused_where_the_limit_is_reached,
                progress_is_stored_in_one_version_alone,
                the_last_deliveries_are_stored,
                active_webhooks_of_active_tenants_are_served,
            }
            $crate::conformance_cases! { $factory, audit:
                each_change_of_a_key_is_an_event,
                a_key_of_a_tenant_is_told_in_its_log_alone,
                each_change_of_a_tenant_is_an_event_of_the_default_tenant,
                a_purge_of_a_tenant_erases_the_events_about_it,
                a_start_with_other_settings_is_an_event,
                writes_continue_after_an_audit_event,
            }
            $crate::conformance_cases! { $factory, events:
                events_can_be_read_by_type_by_actor_and_by_user,
                every_page_size_returns_each_event_once,
                pages_with_few_examined_events_return_the_same_events,
                a_position_far_beyond_the_end_of_the_log_is_accepted,
                a_page_of_events_ends_early_at_its_byte_limit,
                every_page_of_events_has_the_head_of_the_log,
                a_page_without_matching_events_reaches_the_head,
                replaying_events_read_during_writes_gives_exactly_the_users,
            }
            $crate::conformance_cases! { $factory, start:
                a_cancelled_command_is_not_begun,
                a_begun_command_cannot_be_cancelled,
            }
            $crate::conformance_cases! { $factory, forget:
                old_idempotency_records_are_deleted,
                old_events_are_deleted_oldest_first,
                an_old_event_after_a_newer_one_is_kept,
                the_log_continues_after_all_events_are_deleted,
                deleting_events_keeps_their_users,
                a_result_is_replayed_after_its_event_is_deleted,
                a_long_log_is_deleted_in_steps,
            }
        }
    };
}

/// The tests of one module of cases; only for [`conformance!`].
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ($factory:ident, $module:ident: $($case:ident,)*) => {
        $(
            #[test]
            fn $case() {
                use $crate::conformance::$module::{RULES, $case};
                $crate::conformance::run($factory, RULES, $case);
            }
        )*
    };
}
