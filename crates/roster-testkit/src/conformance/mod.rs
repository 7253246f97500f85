//! The promises of contract 1, 2, 4 and 6, as cases that every store must pass.
//!
//! A case is a sentence and a function that acts on an empty store. [`crate::conformance!`] makes
//! one test of each case for each engine, so that a failure reads
//! `sqlite::replace_with_a_stale_version_is_refused`. No case knows an engine.
#![expect(missing_docs, reason = "the name of a case is its sentence")]
#![expect(clippy::missing_panics_doc, reason = "a case that fails panics; that is its purpose")]
#![expect(clippy::expect_used, clippy::panic, reason = "this is how a case fails")]
#![expect(clippy::indexing_slicing, reason = "a missing element fails the case")]

pub mod create;
pub mod guards;
pub mod list;
pub mod log;
pub mod order;
pub mod preconditions;
pub mod races;
pub mod replace;
pub mod scene;
pub mod sharing;
pub mod text;
pub mod uniqueness;

pub use scene::{Scene, Subject, run};

use roster_core::{Guard, Rules, Sharing};

/// The rules as they are without any setting.
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
            $crate::conformance_cases! { $factory, guards:
                a_guarded_replace_that_clears_members_names_them,
                a_guarded_replace_that_clears_nothing_needs_no_precondition,
                any_precondition_opens_the_guard,
                a_guarded_delete_needs_a_precondition,
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
                an_external_id_is_unique_by_the_setting,
                an_external_id_is_compared_exactly,
                users_without_an_external_id_do_not_clash,
            }
            $crate::conformance_cases! { $factory, order:
                names_are_ordered_by_code_point_of_their_folded_key,
                family_names_are_ordered_like_names,
                usernames_and_emails_are_ordered_by_key,
                absent_values_stand_last_ascending_and_first_descending,
                by_default_users_stand_in_order_of_creation,
                the_latest_change_moves_a_user_to_the_end,
                every_order_holds_with_ties_and_absent_values_at_every_page_size,
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
                no_change_of_many_is_lost,
                a_walk_among_writers_shows_all_who_live_through_it_exactly_once,
            }
        }
    };
}

/// The tests of one module of cases; for [`conformance!`] alone.
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
        ] {
            for line in module.lines() {
                let Some(rest) = line.strip_prefix("pub async fn ") else { continue };
                let name = rest.split('(').next().expect("a function has parentheses");
                assert!(list.contains(&format!("    {name},\n")), "{name} is in the list");
            }
        }
    }
}
