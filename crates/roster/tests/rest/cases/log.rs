//! The cases of the change log, and of those who follow it.

/// Calls a macro with these cases and others.
macro_rules! with_log_cases {
    ($callback:ident $($others:tt)*) => {
        with_bulk_cases! { $callback
            mod events {
                responses_of_events,
                an_event_is_a_cloud_event_with_the_record_after_the_change,
                a_position_after_the_end_is_410,
                each_change_and_nothing_else_has_an_event,
                every_way_to_follow_the_log_returns_all_events,
                events_continue_from_the_position_of_a_list,
                events_are_filtered_by_kind_and_user,
                the_newest_events_come_first_if_asked_for,
                the_history_of_a_user_is_its_part_of_the_log,
                a_position_before_the_oldest_event_is_410,
                every_error_of_a_query_for_events_is_listed,
                an_empty_page_of_events_has_a_cursor,
                a_page_of_events_ends_early_at_four_mebibytes,
                if_match_never_matches_events,
            }
            mod webhooks {
                responses_of_webhooks,
                a_webhook_is_created_changed_and_deleted,
                a_url_outside_the_internet_is_rejected,
                a_replay_moves_the_position,
                a_webhook_whose_events_are_gone_goes_on_after_a_replay_only,
                a_rotation_returns_a_new_secret,
                a_test_says_what_became_of_it,
                lag_is_zero_without_events_to_send,
                a_webhook_sends_only_what_its_caller_may_read,
                an_open_service_has_no_webhook_of_all_tenants,
                webhooks_are_those_of_a_tenant,
                a_tenant_has_at_most_a_hundred_webhooks,
            }
            mod audit_events {
                responses_of_audit_events,
                audit_events_need_a_scope_of_their_own,
                hidden_events_take_no_places_of_a_page,
                each_caller_sees_the_audit_events_of_its_own_keys,
                audit_events_can_be_selected_by_subject,
                streams_of_one_tenant_differ_by_scope,
                a_dry_run_of_a_tenant_is_no_audit_event,
            }
            mod event_waits {
                a_wait_ends_with_the_next_event,
                a_wait_without_an_event_shows_how_far_the_log_was_read,
                a_wait_is_from_0_to_60_seconds,
                a_wait_ends_when_its_key_is_revoked,
                a_wait_ends_when_the_service_stops,
                a_caller_has_at_most_a_hundred_waits,
                a_wait_of_a_tenant_ends_with_an_event_of_that_tenant,
            }
            mod event_streams {
                a_stream_has_each_event_once_and_continues_where_it_was_cut,
                many_streams_have_each_event_once,
                a_stream_has_the_events_that_are_selected,
                a_heartbeat_is_past_the_events_that_are_not_selected,
                a_stream_that_cannot_begin_is_a_problem,
                a_stream_ends_when_its_key_is_revoked,
                a_stream_ends_when_the_service_stops,
                a_stream_that_is_behind_ends_when_the_service_stops,
                a_stream_of_a_tenant_has_the_events_of_that_tenant,
                a_stream_ends_when_another_tenant_has_the_name,
                a_caller_has_at_most_a_hundred_streams,
            }
            mod event_forks {
                a_position_is_valid_up_to_the_fork_of_its_log,
                a_stream_goes_on_after_a_fork_unless_its_events_may_be_lost,
                keys_and_tenants_are_read_again_after_a_fork,
            }
            mod log_growth {
                small_changes_of_a_large_user_end_with_429,
                stored_results_of_writes_without_a_change_end_with_429,
                lines_on_one_large_user_grow_the_log_by_a_bounded_amount,
                the_events_of_all_groups_of_a_user_are_charged,
            }
            $($others)*
        }
    };
}
