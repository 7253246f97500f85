//! The list of all cases. `main` makes a test of each over each engine.

#[macro_use]
mod bulk;
#[macro_use]
mod log;

/// Calls a macro with the list.
macro_rules! with_all_cases {
    ($callback:ident) => {
        with_log_cases! { $callback
            mod endpoints {
                get_users_lists_the_users,
                post_users_creates_a_user,
                get_users_user_id_returns_the_user,
                put_users_user_id_replaces_the_user,
                delete_users_user_id_deletes_the_user,
            }
            mod caller {
                a_caller_learns_who_it_is,
            }
            mod access {
                each_operation_needs_its_scope_and_no_other,
                a_missing_or_invalid_credential_is_401,
                a_foreign_page_with_a_key_is_403,
                operations_without_a_scope_stay_public,
                an_open_service_rejects_an_invalid_credential,
                the_first_key_closes_the_service_for_good,
                of_many_first_keys_at_once_one_is_created,
                requests_through_a_proxy_are_served_once_a_key_exists,
                a_store_that_loses_its_keys_does_not_open_the_service,
                a_service_that_requires_a_key_is_never_open,
                a_new_key_from_a_locked_address_is_admitted,
                an_idempotency_key_belongs_to_its_caller,
                a_cursor_belongs_to_its_caller,
                guesses_are_429_and_lock_out_no_other_caller,
                each_key_has_an_allowance_of_its_own,
            }
            mod disclosure {
                no_response_shows_more_than_the_scopes_of_its_caller_allow,
                a_caller_that_may_read_sees_the_result_of_each_write,
                a_caller_that_only_writes_gets_what_it_creates_and_nothing_else,
            }
            mod body_authority {
                a_key_revoked_during_the_body_is_rejected,
                a_key_that_expires_during_the_body_is_rejected,
                the_first_key_rejects_uploads_without_a_credential,
                an_ignored_body_is_not_waited_for,
                a_revoked_key_rejects_no_body_of_another_key,
            }
            mod jwt {
                every_forged_token_is_rejected,
                each_scope_of_a_token_allows_its_operations_only,
                a_subject_learns_who_it_is,
                a_foreign_page_with_a_token_is_403,
                scopes_are_read_from_the_configured_claim,
                with_an_issuer_every_request_needs_a_credential,
                the_change_log_names_the_subject_that_acted,
                a_set_without_a_key_is_fetched_again_after_a_second,
                keys_are_fetched_again_after_the_clock_was_set_back,
                rotated_issuer_keys_are_fetched,
                a_key_that_is_replaced_under_its_id_is_fetched,
                a_token_is_rejected_once_its_key_leaves_the_set,
                an_unreachable_issuer_is_503_until_it_responds,
                keys_of_an_unreachable_issuer_are_used_for_a_day,
                a_known_key_waits_for_no_fetch_and_many_requests_cause_one,
                a_cached_token_is_rejected_when_it_expires,
                invalid_documents_of_an_issuer_are_rejected,
                keys_that_cannot_be_used_do_not_refuse_the_others,
                a_token_that_expires_ends_its_streams,
                a_token_is_for_the_tenant_that_it_names,
                all_tokens_of_an_issuer_may_be_for_one_tenant,
                several_issuers_are_kept_separate,
                a_fresh_token_from_a_locked_address_is_admitted,
            }
            mod groups {
                a_group_is_made_read_changed_and_deleted,
                all_errors_of_an_invalid_group_are_listed,
                no_two_groups_have_one_name,
                a_write_of_a_group_checks_its_version,
                members_join_and_leave_and_the_group_changes,
                only_users_and_groups_can_be_members,
                groups_stand_within_groups_and_form_no_circle,
                a_full_group_rejects_members,
                a_deleted_user_leaves_its_groups,
                a_restore_brings_the_groups_back_if_asked_to,
                the_change_log_tells_of_groups,
                a_dry_run_of_a_group_stores_nothing,
                a_request_on_a_group_may_come_twice,
                a_guarded_service_asks_for_versions_of_groups_too,
            }
            mod group_lists {
                members_are_paged,
                members_have_their_records_on_request,
                groups_are_paged_and_found,
                groups_are_filtered_and_searched,
                an_unchanged_list_of_groups_is_304,
                groups_are_listed_by_name,
                the_groups_of_a_user_are_listed_with_those_around_them,
            }
            mod schema {
                a_schema_is_read_replaced_and_read_again,
                an_invalid_schema_lists_all_its_errors,
                declared_members_are_checked_and_found,
                the_schema_has_a_scope_of_its_own,
                the_change_log_and_the_description_follow_the_schema,
                only_readers_of_users_see_declared_members_in_the_description,
                a_repeated_schema_request_is_executed_once,
            }
            mod indexes {
                an_indexed_member_is_found_and_is_an_order,
                an_order_without_a_complete_index_is_rejected,
                the_schema_shows_the_statuses_of_its_indexes,
                a_unique_value_is_taken,
                a_create_may_match_by_a_unique_member,
                a_long_value_is_not_another_with_the_same_beginning,
                invalid_indexes_are_errors,
            }
            mod keys {
                a_key_is_shown_once_and_never_again,
                keys_are_paged_and_have_tags,
                all_errors_of_an_invalid_key_are_listed,
                both_secrets_of_a_rotated_key_open_for_a_while,
                a_revoked_key_stops_working_at_once_and_forever,
                an_expired_key_is_401,
                a_key_that_is_not_there_is_not_found,
                keys_take_no_parameters_and_are_json,
                there_are_only_so_many_keys,
                the_change_log_names_the_key_that_acted,
                every_kind_of_change_names_its_actor,
                the_use_of_a_key_shows_after_a_while,
            }
            mod tenants_isolation {
                a_key_reaches_its_tenant_alone,
                ids_of_another_tenant_are_unknown,
                a_tenant_has_links_cursors_and_events_of_its_own,
                the_declared_members_of_a_tenant_are_its_own,
                keys_of_the_operator_are_in_the_hands_of_the_operator,
                a_suspended_tenant_serves_the_operator_alone,
                the_operator_reads_the_events_of_all_tenants,
                a_tenant_has_at_most_its_maximum_of_users,
            }
            mod tenants_deleted {
                a_deleted_tenant_is_out_of_reach_until_it_is_restored,
                a_purged_tenant_is_gone_and_its_name_is_free,
                nothing_of_a_purged_tenant_fits_another_of_its_name,
                a_deletion_of_a_tenant_checks_its_version,
                deleted_tenants_are_paged_by_name,
                a_dry_run_deletes_no_tenant,
                guards_cover_tenants,
            }
            mod tenants_resource {
                a_tenant_is_created_read_and_changed,
                tenants_are_paged_by_name_and_found_by_external_id,
                a_write_of_a_tenant_checks_its_version,
                all_errors_of_an_invalid_tenant_are_listed,
                no_two_tenants_have_one_name,
                a_tenant_that_does_not_exist_is_not_found,
                only_a_key_for_all_tenants_reads_and_changes_tenants,
                a_dry_run_of_a_tenant_stores_nothing,
                a_change_of_a_tenant_takes_no_idempotency_key,
                there_are_only_so_many_tenants,
                a_key_of_a_tenant_works_below_its_base_url_alone,
                a_tenant_has_a_service_document_and_a_description_of_its_own,
            }
            mod record {
                an_email_is_enough_for_a_user,
                a_username_is_enough_for_a_user,
                a_username_that_is_the_email_follows_it,
                the_short_form_and_its_list_follow_the_documented_table,
                a_patch_of_the_short_form_moves_the_primary_entry,
                a_patch_that_removes_the_short_form_clears_its_only_entry,
                a_password_is_refused_with_the_reason,
                an_unknown_member_is_refused_with_the_one_that_was_meant,
                all_errors_are_listed_at_once,
                every_error_of_a_user_has_its_code,
                values_of_the_maximum_size_are_accepted,
                null_empty_and_absent_mean_the_same,
                custom_attributes_keep_numbers_and_order,
                a_put_that_changes_the_address_clears_its_verified_flag,
            }
            mod writes {
                the_location_of_a_new_user_is_its_path,
                server_set_members_are_ignored_on_a_create,
                a_get_response_can_be_edited_and_put_back,
                a_second_put_with_the_same_version_is_rejected,
                the_id_of_the_body_must_be_the_one_of_the_path,
                a_stale_version_in_the_body_is_refused_even_where_nothing_would_change,
                a_put_clears_what_it_omits_but_status_and_username,
                a_put_creates_no_user,
                a_put_without_a_change_stores_nothing,
                a_guarded_put_without_a_precondition_names_the_members_it_would_clear,
                a_guarded_delete_needs_a_precondition,
                a_deleted_user_frees_its_name_and_address_at_once,
                all_taken_values_are_listed_without_their_holder,
                an_email_that_is_the_username_of_another_user_is_taken,
                shared_mailboxes_are_accepted_if_allowed,
                a_merge_patch_is_accepted_as_both_media_types,
                return_minimal_omits_the_body_and_sets_preference_applied,
            }
            mod preconditions {
                the_tag_of_a_user_is_its_version_and_strong,
                if_match_accepts_the_named_versions,
                if_none_match_answers_a_read_304_and_a_write_412,
                if_match_is_evaluated_before_if_none_match,
                header_and_body_version_must_both_hold,
                a_malformed_tag_is_rejected_and_never_ignored,
                webhooks_and_tenants_are_read_under_preconditions,
                an_unknown_user_is_404_whatever_the_preconditions,
                a_stale_version_is_reported_before_errors_of_the_user,
            }
            mod methods {
                head_is_get_without_the_body,
                head_checks_all_that_get_checks,
                head_of_a_list_reads_no_page,
                options_lists_every_supported_method,
                an_unsupported_method_is_405_with_allow,
                an_unknown_method_is_501,
                a_path_is_compared_exactly,
                a_path_that_is_nearly_one_of_ours_is_named,
                an_unknown_parameter_is_refused_everywhere,
                an_unknown_parameter_is_refused_with_the_one_that_was_meant,
                an_invalid_percent_escape_in_the_query_is_rejected,
                only_an_acceptable_media_type_is_sent,
            }
            mod compression {
                lists_and_exports_are_compressed_for_those_who_accept_it,
                what_must_not_be_compressed_is_sent_as_it_is,
                an_unchanged_document_is_304_in_each_coding,
                the_tag_of_the_description_follows_the_schema,
            }
            mod lists {
                every_order_holds_in_both_directions_and_at_every_page_size,
                conditions_are_compared_as_uniqueness_is,
                fields_show_the_named_members_and_always_id_and_version,
                fields_mean_the_same_for_every_record,
                a_count_is_given_when_it_is_asked_for,
                every_error_of_a_query_names_its_parameter,
                polling_an_unchanged_list_costs_no_page,
                no_weak_tag_of_a_list_matches_if_match,
                a_malformed_tag_of_a_list_is_refused,
                the_position_grows_with_each_change_and_with_nothing_else,
            }
            mod cursors {
                the_link_and_the_cursor_lead_to_the_same_page,
                the_link_keeps_every_condition,
                a_cursor_reveals_nothing_about_users,
                an_altered_cursor_is_refused,
                a_cursor_is_valid_for_its_order_and_conditions_only,
                a_cursor_of_another_store_is_refused,
                paging_returns_every_user_that_exists_throughout_once,
                a_page_ends_early_at_four_mebibytes,
                a_page_that_ends_early_has_the_number_of_examined_users,
                a_damaged_record_on_a_page_is_500,
            }
            mod filter {
                every_operator_returns_the_matching_users,
                each_member_is_compared_by_its_type,
                and_or_not_and_parentheses_follow_the_grammar,
                every_error_of_a_filter_has_its_position,
                the_limits_of_a_filter_are_enforced,
                a_plus_sign_in_a_filter_is_a_space_unless_it_is_escaped,
                a_filter_is_combined_with_orders_conditions_and_words,
                a_cursor_is_valid_for_its_filter_only,
                a_filter_sees_a_change_at_once,
                an_invalid_query_is_reported_before_an_invalid_filter,
                responses_of_filters_and_searches,
                a_page_of_long_lists_ends_early_and_the_next_goes_on,
            }
            mod search {
                users_are_found_by_the_beginnings_of_words,
                a_search_has_every_order_of_lists,
                all_words_must_match_in_any_order,
                a_search_ignores_case_width_and_composition_but_not_accents,
                any_text_is_a_search,
                a_search_finds_a_write_as_soon_as_it_returns,
                a_cursor_is_valid_for_its_words_only,
            }
            mod idempotency {
                a_failed_removal_of_a_member_is_not_stored,
                every_repeated_write_gets_the_first_response,
                a_purge_deletes_the_stored_results_of_its_user,
                a_key_is_valid_for_one_request_only,
                a_replay_comes_before_preconditions,
                a_rejected_request_is_executed_again,
                a_write_without_a_change_is_replayed,
                an_idempotency_key_may_be_quoted_or_bare,
                an_invalid_key_is_400_on_every_write,
                one_of_many_simultaneous_repetitions_is_executed,
                a_result_is_stored_for_a_day,
                a_dry_run_ignores_the_idempotency_key,
                responses_of_repeated_requests,
            }
            mod dry_run {
                a_dry_run_returns_the_result_of_the_write,
                a_dry_run_of_a_delete_returns_the_user,
                a_dry_run_returns_the_error_of_the_write,
                dry_run_must_be_true_or_false,
                a_dry_run_always_returns_the_user,
                responses_of_dry_runs,
            }
            mod upsert {
                a_user_that_exists_is_skipped_replaced_or_merged,
                a_username_that_was_not_sent_selects_no_user,
                a_purged_user_is_created_again_with_its_id,
                an_id_of_another_resource_is_not_kept,
                an_update_needs_no_valid_new_user,
                a_guarded_replacement_that_clears_members_is_428,
                a_user_is_found_by_its_external_id,
                a_repeated_request_gets_the_user_again,
                a_dry_run_of_an_upsert_changes_nothing,
                an_upsert_needs_to_read_and_takes_no_preconditions,
            }
            mod deleted_users {
                responses_of_deleted_users,
                a_deleted_user_is_kept_with_the_moments_of_leaving_and_purge,
                the_last_deleted_users_are_first_and_each_once,
                a_walk_over_deleted_users_goes_on_when_the_last_one_is_purged,
                a_cursor_of_deleted_users_is_valid_for_its_list_and_order,
                every_error_of_a_query_for_deleted_users_is_listed,
                a_filter_finds_deleted_users,
                polling_unchanged_deleted_users_is_answered_304,
                a_restored_user_is_back_as_it_was_with_the_next_version,
                a_restore_below_a_base_path_tells_the_whole_path,
                a_user_with_taken_names_is_not_restored,
                only_deleted_users_are_restored_or_purged,
                restore_and_purge_hold_the_version_that_is_named,
                a_guarded_purge_needs_a_precondition,
                a_dry_run_neither_restores_nor_purges,
                a_restore_or_purge_that_comes_twice_happens_once,
                a_restore_takes_no_body,
                a_purge_leaves_nothing_of_the_person,
            }
            mod console {
                a_browser_gets_the_page,
                a_service_without_a_console_has_a_page_of_links,
                a_session_has_the_rights_of_its_key,
                a_session_needs_both_halves_and_its_own_page,
                without_the_keys_nobody_has_a_session,
                a_session_ends_when_it_is_idle_and_after_twelve_hours,
                a_stream_ends_twelve_hours_after_the_sign_in,
                a_session_begins_with_a_credential_and_ends_in_the_browser,
                in_clear_text_only_this_machine_signs_in,
                a_key_of_a_tenant_signs_in_below_it,
            }
            mod guards {
                an_unknown_host_is_421,
                configured_hosts_are_accepted_with_any_port,
                a_host_with_a_port_is_accepted_with_that_port_only,
                exactly_one_valid_host_is_needed,
                an_absolute_form_target_is_checked_like_the_host,
                a_request_of_a_foreign_web_page_is_rejected,
                a_foreign_link_may_navigate_to_a_page,
                a_request_through_a_proxy_is_rejected,
                health_accepts_any_host,
                limits_are_checked_before_the_routes,
                expect_100_continue_is_honoured,
                only_json_in_utf8_is_accepted,
                malformed_json_is_rejected,
                a_content_length_over_one_mebibyte_is_rejected,
                a_body_about_keys_tenants_or_webhooks_has_the_stated_limit,
                a_stalled_body_is_aborted,
                a_body_is_refused_where_none_is_taken,
                a_valid_request_id_is_kept_and_an_invalid_one_replaced,
            }
            mod cors {
                a_page_must_name_the_media_type_of_a_scim_body,
                pages_of_a_listed_origin_read_and_write_with_a_key,
                a_preflight_names_the_methods_of_its_path,
                an_unlisted_origin_gets_no_cors_headers,
                no_origin_is_listed_until_a_key_exists,
                an_error_response_has_cors_headers,
                a_page_may_read_and_send_every_documented_header,
            }
            mod failures {
                an_unavailable_store_is_503_with_retry_after,
                stopped_writes_are_503_without_retry_after,
                damage_and_internal_errors_are_500_without_details,
                a_panicking_handler_is_500_without_details,
                a_full_disk_is_507_on_writes,
                readiness_follows_the_store_and_the_disk,
                a_service_whose_last_requests_failed_is_not_ready,
                a_service_whose_database_was_left_behind_says_so,
                one_failure_among_successes_and_one_damaged_record_leave_it_ready,
                readiness_queries_the_store_once_a_second,
                readiness_sends_one_query_while_the_store_hangs,
                a_draining_service_is_not_ready_and_serves_requests,
                metrics_are_served_while_the_store_is_unavailable,
                no_caller_is_admitted_whose_key_cannot_be_read,
                callers_who_wait_for_a_read_of_the_keys_fail_with_it,
                measurements_also_come_as_plain_text,
            }
            mod pressure {
                a_caller_beyond_its_limit_is_429_on_every_operation_but_health,
                every_response_to_a_limited_caller_has_rate_limit_headers,
                without_a_limit_there_are_no_rate_limit_headers,
                a_write_that_would_wait_too_long_is_503_and_not_executed,
                a_blocked_class_does_not_affect_the_others,
                one_caller_does_not_take_the_places_of_another,
                rejections_are_counted_by_reason,
                a_page_of_a_thousand_users_is_complete,
                a_rejected_list_is_counted_and_does_not_reach_the_store,
                a_list_whose_rows_are_tested_is_a_long_one_whatever_else_it_names,
                only_so_many_short_lists_are_read_at_the_same_time,
            }
            mod patience {
                a_read_is_aborted_after_the_wait_of_its_caller,
                a_read_is_aborted_after_the_configured_wait,
                a_search_takes_no_longer_than_a_list,
                a_write_that_did_not_begin_in_time_is_not_executed,
                a_read_within_its_wait_is_served,
                health_and_metrics_respond_while_the_store_hangs,
            }
            mod errors {
                a_response_lists_32_errors_of_a_body_and_counts_the_others,
                few_errors_are_all_listed_and_none_is_counted,
                a_query_of_more_than_64_parameters_is_one_error,
                a_result_on_a_line_lists_32_errors,
            }
            mod problems {
                every_problem_type_has_a_page_as_json_and_html,
                the_list_of_problems_is_complete_as_json_and_html,
                every_violation_code_has_a_page,
                links_between_documents_resolve,
            }
            mod mount {
                routes_are_below_the_path_of_the_base_url,
                health_is_served_below_the_base_path_and_at_the_root,
                every_link_includes_the_base_path,
            }
            mod examples {
                documented_defaults_are_accepted_and_change_nothing,
                the_examples_of_one_user_match_the_service,
                the_example_of_a_patch_matches_the_service,
                the_long_example_is_accepted,
                the_examples_of_documents_match_the_service,
                the_examples_of_a_tenant_match_the_service,
                the_examples_of_a_deleted_tenant_match_the_service,
                every_example_of_a_request_is_accepted,
                a_record_is_a_valid_body_although_its_type_shows_less,
                the_example_of_a_problem_has_the_members_of_a_real_one,
            }
            mod transcripts {
                responses_of_the_five_endpoints_and_patch,
                responses_of_a_list,
                responses_of_documents,
                responses_to_invalid_users,
                responses_to_invalid_bodies,
                responses_to_rejected_requests,
                responses_to_failures,
            }
        }
    };
}
