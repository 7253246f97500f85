//! The promises of contract 1 to 4, 6 and 9, as cases that every store must pass.
//!
//! A case is a function that acts on an empty store. [`crate::conformance!`] makes one test of each
//! case for each engine, so that a failure reads `sqlite::replace_with_a_stale_version_is_refused`.
//! No case knows an engine.
#![expect(missing_docs, reason = "the name of a case is its sentence")]
#![expect(clippy::missing_panics_doc, reason = "a case that fails panics; that is its purpose")]
#![expect(clippy::expect_used, clippy::panic, reason = "this is how a case fails")]
#![expect(clippy::indexing_slicing, reason = "a missing element fails the case")]

pub mod conflict;
pub mod create;
pub mod deleted;
pub mod dry_run;
pub mod erasure;
pub mod events;
pub mod filter;
pub mod forget;
pub mod grouping;
pub mod groups;
pub mod guards;
pub mod harness;
pub mod idempotency;
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
pub mod text;
pub mod uniqueness;

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
                a_created_user_is_read_back_as_it_was_answered,
                a_new_user_is_active_and_at_version_one,
                a_user_may_be_created_suspended,
                created_at_and_updated_at_of_a_new_user_are_the_moment_of_its_id,
                server_made_members_are_ignored_on_a_create,
                without_a_username_the_email_serves_and_does_not_follow_later,
                a_user_without_username_and_email_is_refused,
                an_email_that_cannot_be_a_username_asks_for_one,
                a_default_username_that_is_taken_is_told_as_such,
                a_refused_create_changes_nothing,
                an_id_that_never_was_is_absent,
                an_empty_store_answers_everything,
                the_log_names_who_created_whom_and_when,
            }
            $crate::conformance_cases! { $factory, replace:
                replace_clears_what_is_omitted_but_status_and_username,
                null_username_and_status_are_kept_on_a_later_write,
                each_real_change_is_one_version_and_one_event,
                a_write_that_changes_nothing_leaves_all_alone,
                null_and_empty_and_absent_mean_the_same_on_a_write,
                the_id_of_the_body_must_be_the_one_of_the_path,
                updated_at_never_goes_back_when_the_clock_does,
                a_patch_merges_and_null_removes,
                a_patch_that_is_no_object_is_refused,
                a_deleted_user_is_gone_and_kept_aside,
                who_is_not_there_cannot_be_replaced_patched_or_deleted,
                a_batch_is_carried_out_in_its_order,
                an_empty_batch_is_nothing,
                what_was_answered_is_read_at_once,
            }
            $crate::conformance_cases! { $factory, preconditions:
                replace_with_a_stale_version_is_refused,
                replace_with_the_current_version_is_carried_out,
                patch_and_delete_with_a_stale_version_are_refused,
                a_stale_version_in_the_body_is_refused_in_replace_and_patch,
                header_and_body_version_must_both_hold,
                a_stale_version_is_refused_even_where_nothing_would_change,
                if_none_match_refuses_the_versions_it_names,
                who_is_not_there_is_told_before_any_precondition,
                a_stale_version_is_told_before_an_invalid_user,
                an_invalid_user_is_told_before_a_taken_name,
                a_stale_version_is_told_before_a_taken_name,
                a_read_and_write_back_of_another_member_loses_no_update,
            }
            $crate::conformance_cases! { $factory, erasure:
                a_long_history_is_hidden_at_once,
                a_long_history_does_not_hide_the_events_of_others,
                keys_of_a_long_history_can_be_used_again_at_once,
                the_purge_of_a_long_history_is_told_again,
                erasing_a_user_that_has_nothing_left_does_nothing,
            }
            $crate::conformance_cases! { $factory, guards:
                a_guarded_replace_that_clears_members_names_them,
                a_guarded_replace_that_clears_nothing_needs_no_precondition,
                any_precondition_opens_the_guard,
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
                a_schema_command_that_comes_twice_happens_once,
            }
            $crate::conformance_cases! { $factory, uniqueness:
                a_username_is_unique_by_its_key,
                usernames_of_different_keys_live_side_by_side,
                an_email_is_unique_by_its_key,
                dots_and_tags_of_an_email_are_not_folded,
                only_the_primary_email_is_unique,
                all_that_is_taken_is_told_at_once,
                a_later_write_cannot_take_what_another_holds,
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
                a_restore_asks_for_the_external_id_and_not_for_a_shared_mailbox,
                a_conflict_of_external_ids_is_settled_as_asked,
            }
            $crate::conformance_cases! { $factory, order:
                names_are_ordered_by_code_point_of_their_folded_key,
                family_names_are_ordered_like_names,
                usernames_and_emails_are_ordered_by_key,
                absent_values_stand_last_ascending_and_first_descending,
                by_default_users_stand_in_order_of_creation,
                the_latest_change_moves_a_user_to_the_end,
                every_order_holds_with_ties_and_absent_values_at_every_page_size,
                a_bound_leaves_out_who_has_no_value_on_every_page,
            }
            $crate::conformance_cases! { $factory, list:
                a_walk_shows_all_who_live_through_it_exactly_once,
                a_walk_goes_on_after_a_row_that_is_gone,
                a_place_before_all_and_after_all_is_answered,
                conditions_are_compared_by_key,
                a_condition_sees_the_primary_address_alone,
                every_condition_holds_alone_and_together_in_every_order,
                a_total_is_given_when_it_is_asked_for,
                a_limit_of_none_gives_the_head_alone,
                the_last_page_has_no_next_even_when_it_is_full,
                a_page_ends_early_once_it_holds_its_bytes,
                a_walk_in_short_looks_shows_the_same_users,
                among_many_users_totals_are_bounded_and_walks_are_whole,
            }
            $crate::conformance_cases! { $factory, text:
                nul_is_refused_everywhere,
                the_marks_of_sql_are_texts_like_others,
                the_longest_keys_are_kept_compared_and_walked,
                a_record_of_the_largest_size_is_kept_and_one_more_byte_refused,
                every_script_is_read_back_as_nfc,
                numbers_of_own_data_keep_their_value,
            }
            $crate::conformance_cases! { $factory, log:
                events_are_dense_from_one_and_in_order,
                replaying_the_log_gives_exactly_the_stored_users,
                the_versions_of_a_user_follow_each_other_in_the_log,
                an_event_names_the_members_that_changed,
                a_page_and_its_position_belong_together,
                counters_follow_every_change,
                the_store_keeps_one_secret_and_one_log_id,
            }
            $crate::conformance_cases! { $factory, races:
                of_many_who_create_one_username_exactly_one_wins,
                of_many_who_create_one_email_exactly_one_wins,
                of_many_who_replace_at_one_version_exactly_one_wins,
                of_many_who_delete_one_user_exactly_one_wins,
                of_many_who_send_one_key_exactly_one_is_carried_out,
                of_many_who_restore_and_purge_one_user_exactly_one_wins,
                no_change_of_many_is_lost,
                a_walk_among_writers_shows_all_who_live_through_it_exactly_once,
            }
            $crate::conformance_cases! { $factory, restore:
                a_deleted_user_comes_back_as_it_was_one_version_on,
                a_restored_user_keeps_its_status,
                a_restore_is_told_in_the_log,
                a_restore_brings_the_groups_back_if_asked_to,
                a_restore_is_refused_while_another_holds_its_name_or_address,
                two_holders_of_name_and_address_are_told_at_once,
                a_changed_name_makes_way_for_a_restore,
                a_further_address_of_another_does_not_hinder_a_restore,
                a_restored_user_holds_its_name_and_address_again,
                of_two_deleted_namesakes_one_comes_back,
                a_restore_takes_the_preconditions,
                a_stale_version_is_told_before_a_name_that_is_held,
                only_who_is_deleted_can_be_restored,
                a_user_leaves_and_comes_back_many_times_in_one_batch,
                updated_at_never_goes_back_when_a_user_comes_back,
                a_restored_user_is_met_by_every_condition_and_order,
            }
            $crate::conformance_cases! { $factory, purge:
                a_purged_user_is_gone_for_good,
                a_purge_empties_the_records_of_all_its_events,
                the_event_of_a_purge_holds_nothing_of_the_person,
                a_live_user_cannot_be_purged,
                a_purge_takes_the_preconditions,
                counters_follow_a_purge,
                the_log_replays_to_the_live_users_after_a_purge,
                a_whole_life_in_one_batch_leaves_no_record,
                the_history_of_a_purged_user_still_tells_what_happened,
                nobody_finds_a_purged_user,
            }
            $crate::conformance_cases! { $factory, deleted:
                a_deleted_user_is_kept_with_the_moment_it_left,
                who_lives_or_never_was_is_not_among_the_deleted,
                the_deleted_are_listed_in_the_order_they_left,
                a_filter_of_the_deleted_is_tested_on_each,
                by_default_the_last_to_leave_comes_first,
                a_page_of_the_deleted_tells_all_that_are_kept_and_its_position,
                only_those_who_left_before_a_moment_are_listed_where_asked,
                the_last_page_of_the_deleted_has_no_next_even_when_it_is_full,
                a_page_of_the_deleted_ends_early_once_it_holds_its_bytes,
                a_place_before_and_after_all_the_deleted_is_answered,
                a_walk_among_the_deleted_shows_all_who_stay_exactly_once,
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
                a_result_is_stored_for_a_day,
                an_expired_record_stays_if_its_request_is_rejected,
                a_clock_set_back_expires_no_record,
                a_purge_deletes_the_records_of_its_user,
            }
            $crate::conformance_cases! { $factory, keys:
                a_store_without_a_key_is_open_until_the_first_one,
                a_key_is_kept_as_it_was_made,
                unchanged_keys_are_not_told_again,
                a_rotated_key_opens_by_both_secrets_for_a_while,
                a_revoked_key_stays_revoked,
                an_expired_key_opens_no_more,
                another_secret_opens_nothing,
                a_key_that_is_not_there_cannot_be_rotated_or_revoked,
                a_change_that_comes_twice_comes_to_nothing_the_second_time,
                a_full_keyring_gives_the_place_of_the_first_that_ended,
                the_use_of_a_key_is_noted_and_is_no_change,
                keys_are_no_part_of_the_change_log,
            }
            $crate::conformance_cases! { $factory, groups:
                a_created_group_is_read_back_as_it_was_answered,
                a_group_name_is_unique_by_its_key,
                a_group_is_written_like_a_user,
                who_joins_and_leaves_changes_the_group_alone,
                all_members_are_replaced_at_once,
                who_is_nobody_cannot_join,
                a_deleted_user_leaves_its_groups_and_a_restore_does_not_bring_it_back,
                several_users_leave_one_group_in_one_batch,
                a_deleted_group_leaves_the_groups_it_was_in,
                groups_form_no_circle,
                groups_stand_within_groups_up_to_a_depth,
                of_two_that_join_each_other_at_once_one_is_refused,
                nobody_joins_while_being_deleted,
                a_request_names_no_more_members_than_it_may,
                groups_are_listed_by_every_condition,
                a_page_of_members_tells_the_group_its_total_and_its_place,
                the_groups_of_many_users_are_told_at_once,
                many_groups_of_many_users_are_all_told,
                a_group_command_that_comes_twice_happens_once,
                a_dry_run_of_a_group_command_stores_nothing,
                the_log_replays_to_the_groups,
            }
            $crate::conformance_cases! { $factory, conflict:
                without_a_conflict_every_mode_creates,
                a_conflict_is_refused_where_nothing_else_is_asked_for,
                a_conflict_is_passed_over_where_that_is_asked_for,
                a_conflict_replaces_the_holder_where_that_is_asked_for,
                a_replacement_ignores_server_made_members,
                a_replacement_that_changes_nothing_is_told_as_such,
                two_holders_refuse_a_replacement,
                of_two_holders_the_one_of_the_name_is_told_when_passed_over,
                an_invalid_user_is_refused_whatever_is_asked_for,
                a_default_name_meets_its_holder_too,
                within_one_batch_the_second_meets_the_first,
                a_name_that_a_batch_frees_is_no_conflict,
                a_deleted_holder_is_no_conflict,
                a_match_by_the_external_id_needs_the_policy,
                a_merge_keeps_the_members_that_the_body_omits,
                a_repeated_request_that_was_skipped_gets_the_same_user,
                a_replaced_holder_gives_its_old_name_and_words_free,
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
                names_and_operators_may_be_written_in_any_case,
                user_names_and_addresses_are_equal_by_their_keys,
                what_is_case_exact_is_compared_so,
                own_data_is_compared_by_its_kind,
                one_entry_must_meet_all_that_stands_in_brackets,
                flags_status_and_times_are_compared_as_what_they_are,
                a_time_between_two_milliseconds_is_compared_exactly,
                the_beginning_of_an_address_is_that_of_the_address_as_shown,
                the_marks_of_sql_and_json_are_texts_like_others,
                and_binds_closer_than_or_and_brackets_bind_closest,
                a_filter_sees_each_write_at_once,
                an_address_that_several_have_finds_them_all_once,
                a_filter_holds_with_every_condition_order_and_page_size,
                a_filtered_walk_shows_all_who_meet_it_throughout_exactly_once,
                a_filter_and_words_hold_together,
                a_limit_of_none_counts_who_meets_a_filter,
            }
            $crate::conformance_cases! { $factory, search:
                a_user_is_found_as_soon_as_it_is_written,
                a_word_is_found_by_its_beginning_alone,
                all_words_must_be_found_wherever_they_stand,
                case_width_and_composition_make_no_difference,
                a_mail_address_is_found_by_its_parts,
                marks_part_words_and_match_nothing_themselves,
                a_run_of_chinese_is_found_from_its_start,
                what_is_renamed_is_found_by_its_new_name_alone,
                a_word_that_stands_twice_is_found_until_both_are_gone,
                who_has_several_words_of_one_beginning_is_shown_once,
                who_is_deleted_is_not_found_until_it_comes_back,
                words_follow_every_write_of_one_batch,
                a_refused_write_leaves_the_words_alone,
                a_search_is_walked_counted_and_ordered_like_any_list,
                a_word_of_many_users_is_found_in_every_order,
            }
            $crate::conformance_cases! { $factory, events:
                events_are_pulled_by_kind_and_by_user,
                a_pull_has_no_gap_and_nothing_twice_at_every_page_size,
                a_pull_in_short_looks_shows_the_same_events,
                a_place_far_beyond_the_end_of_the_log_is_answered,
                a_page_of_events_ends_early_once_it_holds_its_bytes,
                the_end_of_the_log_is_told_wherever_it_is_asked_from,
                a_kind_that_comes_late_is_waited_for_at_the_head,
                a_pull_among_writers_ends_with_exactly_the_users,
            }
            $crate::conformance_cases! { $factory, start:
                what_was_given_up_is_not_begun,
                what_was_begun_cannot_be_given_up,
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

#[cfg(test)]
mod tests {
    /// A case that is not in the list of the macro would never run.
    #[test]
    fn every_case_is_in_the_list() {
        let list = include_str!("mod.rs");
        for module in [
            include_str!("create.rs"),
            include_str!("replace.rs"),
            include_str!("preconditions.rs"),
            include_str!("guards.rs"),
            include_str!("uniqueness.rs"),
            include_str!("sharing.rs"),
            include_str!("order.rs"),
            include_str!("list.rs"),
            include_str!("text.rs"),
            include_str!("log.rs"),
            include_str!("races.rs"),
            include_str!("restore.rs"),
            include_str!("purge.rs"),
            include_str!("deleted.rs"),
            include_str!("idempotency.rs"),
            include_str!("conflict.rs"),
            include_str!("dry_run.rs"),
            include_str!("filter.rs"),
            include_str!("search.rs"),
            include_str!("events.rs"),
            include_str!("forget.rs"),
            include_str!("keys.rs"),
            include_str!("groups.rs"),
            include_str!("start.rs"),
        ] {
            for line in module.lines() {
                let Some(rest) = line.strip_prefix("pub async fn ") else { continue };
                let name = rest.split('(').next().expect("a function has parentheses");
                assert!(list.contains(&format!("    {name},\n")), "{name} is in the list");
            }
        }
    }
}
