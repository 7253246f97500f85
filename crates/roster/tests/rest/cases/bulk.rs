//! The cases of `/bulk`.

/// Calls a macro with these cases and others.
macro_rules! with_bulk_cases {
    ($callback:ident $($others:tt)*) => {
        $callback! {
            mod csv {
                good_rows_among_bad_ones_are_stored_and_no_others,
                a_table_has_the_same_results_as_the_lines,
                every_usual_form_of_csv_is_read,
                a_file_without_a_valid_header_executes_nothing,
                what_an_import_of_csv_does_not_take_is_refused,
                pieces_of_a_file_may_be_cut_anywhere,
                a_result_of_a_row_follows_its_commit_while_the_stream_rests,
                a_row_that_is_cut_off_is_not_executed,
                a_header_row_that_does_not_come_is_408,
            }
            mod csv_names {
                a_column_is_named_as_its_member_or_as_its_path_in_scim,
                cells_of_attributes_have_their_declared_types,
                the_caller_maps_columns,
                a_column_and_the_path_that_it_is_mapped_to_may_have_colons,
                names_that_people_write_are_guessed_if_asked,
                an_empty_cell_is_no_value,
                an_error_names_the_column_of_its_cell,
            }
            mod csv_reports {
                files_that_others_misread_are_read_or_refused,
                header_rows_that_others_misread_are_refused_with_the_reason,
            }
            mod csv_results {
                each_row_patches_the_user_that_it_names,
                each_row_deletes_the_user_that_it_names,
                a_dry_run_of_csv_stores_nothing,
                a_table_of_results_can_be_corrected_and_sent_again,
                an_export_has_a_column_for_each_member,
            }
            mod csv_round_trip {
                users_that_leave_as_csv_come_back_unchanged,
                a_file_can_be_written_by_another_program,
            }
            mod import {
                a_line_has_the_result_of_a_single_request,
                a_line_of_an_export_with_a_script_for_a_url_is_rejected,
                every_kind_of_bad_line_is_named,
                lines_end_in_every_usual_way,
                a_line_has_at_most_64_kib_and_the_stream_any_length,
                results_come_in_the_order_of_many_lines,
                a_line_alone_in_its_batch_keeps_its_order,
                what_an_import_does_not_take_is_refused_before_its_first_line,
                one_user_is_json_and_many_are_lines,
                results_below_a_base_path_link_to_its_pages,
                responses_of_imports_and_exports,
            }
            mod on_conflict {
                existing_users_are_kept_skipped_or_replaced,
                a_replacement_that_changes_nothing_leaves_no_trace,
                a_replacement_ignores_what_a_create_ignores,
                a_unique_external_id_names_a_holder_too,
                a_dry_import_tells_what_the_import_then_does,
            }
            mod change {
                each_line_patches_the_user_that_it_names,
                each_line_deletes_the_user_that_it_names,
                users_that_match_are_changed_once_their_number_is_confirmed,
                a_change_without_a_condition_changes_nobody,
                a_dry_run_shows_the_users_that_would_fail,
                a_change_by_conditions_also_needs_to_read,
                a_patch_of_many_users_has_the_size_of_a_user,
                a_dry_run_of_lines_is_compared_with_stored_users_alone,
                the_collection_of_single_users_changes_none_of_them,
                a_limited_change_reports_each_batch_and_blocks_no_import,
                users_that_have_left_a_group_since_are_not_changed,
            }
            mod intake {
                a_result_follows_its_commit_while_the_stream_rests,
                pieces_may_be_cut_anywhere,
                results_are_complete_if_the_client_reads_them_last,
                where_results_find_no_room_an_import_waits_for_its_caller,
                complete_lines_are_executed_if_the_stream_breaks,
                a_caller_that_goes_away_stops_nothing_that_came,
                a_stream_that_stalls_is_broken_off,
                an_import_that_waits_to_be_asked_is_asked,
                lines_that_fail_in_the_store_do_not_end_the_stream,
                after_a_full_disk_the_other_lines_are_refused_without_an_attempt,
                no_line_is_executed_if_the_caller_cannot_be_checked,
                only_so_many_imports_run_at_a_time,
                the_slowest_import_ends_when_another_caller_waits,
                one_caller_has_two_imports_at_a_time,
                blank_lines_do_not_keep_an_import_alive,
                an_import_beyond_its_callers_limit_slows_down,
            }
            mod shut_out {
                a_key_that_is_revoked_ends_its_import,
                lines_begun_before_the_end_of_a_key_have_results,
                a_key_that_is_revoked_breaks_its_export_off,
                a_key_that_ends_by_itself_ends_its_streams,
                the_first_key_ends_the_streams_of_an_open_service,
                streams_end_when_keys_cannot_be_read,
            }
            mod export {
                every_user_comes_in_the_order_of_ids_as_it_is_kept,
                groups_and_deleted_users_are_exported_too,
                an_export_of_groups_has_more_than_one_page,
                what_came_out_goes_in_again_and_is_the_same,
                an_export_follows_its_pages_to_the_end,
                conditions_and_members_go_with_an_export,
                an_export_may_be_a_search_or_end_early,
                the_total_of_an_export_is_in_a_header,
                what_belongs_to_pages_is_refused,
                the_head_of_an_export_reads_no_user,
                an_export_has_no_tag_that_a_condition_could_name,
                events_continue_from_the_position_of_an_export,
                a_failure_midway_breaks_the_body_off,
                a_store_without_time_is_asked_again,
                a_record_that_cannot_be_cut_breaks_the_body_off,
                only_so_many_exports_run_at_a_time,
                one_caller_has_eight_exports_at_a_time,
            }
            mod export_types {
                an_export_is_ndjson_and_a_list_is_json,
                a_list_is_no_export_and_names_it,
            }
            mod group_lines {
                groups_are_imported_with_their_members,
                the_type_of_a_member_must_be_right,
                a_group_that_exists_is_skipped_replaced_or_merged,
                a_group_of_many_members_takes_several_lines,
                what_an_import_of_groups_does_not_take_is_refused,
            }
            mod resume {
                an_import_sent_again_tells_its_own_users_from_those_of_others,
                rows_and_kept_ids_are_recognised_too,
                lines_that_are_safe_to_repeat_take_no_key,
            }
            $($others)*
        }
    };
}
