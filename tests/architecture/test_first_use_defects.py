"""Each defect that people met when they first used the window has a test that would have found it.

Two tries were written down: 20 defects of the first, D1 to D17 of the second. Here is, for each, what went
wrong, and the tests that fail where it comes back.
"""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
# What went wrong, and where which tests are, without "test_that_".
DEFECTS: dict[str, tuple[str, dict[str, tuple[str, ...]]]] = {
    "D1": ("after a picture was opened, every edit, undo and page said an error", {
        "real_window/test_opening.py": ("work_goes_on_after_a_sample_was_opened_by_its_key",),
        "gui/shell/test_owners.py": ("python_gives_no_widget_another_owner_than_qt_does",),
    }),
    "D2": ("a click on the tab Tile ruined the layout", {
        "gui/shell/test_docks.py": (
            "a_look_at_a_tab_leaves_every_panel_as_large_as_it_was",
            "the_default_layout_is_that_of_the_first_start_to_the_pixel",
        ),
        "real_window/test_pages.py": ("a_look_at_a_tab_and_the_default_layout_move_nothing",),
    }),
    "D3": ("work was lost by quitting and by Clear without a question; sessions had no results", {
        "gui/shell/test_recovery.py": (
            "closing_asks_and_cancel_keeps_the_window",
            "a_run_that_is_under_way_is_asked_about",
        ),
        "real_window/test_running.py": (
            "cleared_rows_come_back_with_undo",
            "a_session_brings_the_rows",
        ),
        "real_window/test_starting.py": (
            "work_is_kept_by_cancel_saved_by_save_and_there_at_the_next_start",
        ),
    }),
    "D4": ("undo took back the mask in place of the border", {
        "gui/explore/test_undo.py": ("border_and_flip_are_taken_back_before_the_mask",),
        "real_window/test_undoing.py": (
            "flip_and_border_are_taken_back_before_the_mask",
            "the_device_is_taken_back",
        ),
    }),
    "D5": ("the wheel changed settings unseen", {
        "gui/style/test_fusion.py": ("the_wheel_leaves_every_control_without_the_focus_as_it_is",),
        "real_window/test_undoing.py": ("the_wheel_over_a_control_without_the_focus_changes_nothing",),
    }),
    "D6": ("the panel Kernel moved under the pointer", {
        "gui/explore/kernel/test_kernel_panel.py": ("nothing_changes_while_the_mouse_goes_over_the_list",),
        "gui/explore/results/test_explore_window.py": ("the_pointer_over_the_kernels_moves_nothing",),
    }),
    "D7": ("edge filters were half black without a word", {
        "gui/explore/test_regions.py": ("a_result_that_is_clipped_offers_the_range_that_shows_it",),
        "engine/work/filtering/test_clipping.py": ("negative_values_ask_for_the_absolute_range",),
    }),
    "D8": ("the newest run was out of sight, and problems were mixed", {
        "gui/explore/results/test_newest_run.py": (
            "the_newest_row_is_in_sight",
            "rows_of_an_earlier_problem_are_dimmed_in_the_table",
        ),
        "gui/explore/results/test_results_panel.py": ("the_newest_run_stands_on_top_and_is_selected",),
    }),
    "D9": ("generators could not be reached from the window", {
        "gui/explore/mask/test_mask_text.py": ("a_generator_is_a_whole_mask_however_small",),
        "real_window/test_undoing.py": (
            "a_generator_is_taken_where_a_mask_is_typed",
            "numbers_of_a_generator_are_one_step",
        ),
    }),
    "D10": ("fractions and divisors vanished; a comma was refused in a riddle", {
        "gui/explore/mask/test_mask_text.py": (
            "a_comma_in_a_number_is_a_decimal_one",
            "a_comma_that_may_part_thousands_is_refused_in_one_sentence",
        ),
        "gui/explore/mask/test_mask_panel.py": ("a_typed_divisor_and_fractions_are_shown_as_typed",),
        "real_window/test_undoing.py": (
            "a_divisor_is_kept_as_it_was_typed",
            "a_fraction_is_kept_as_it_was_typed",
        ),
    }),
    "D11": ("the simulator refused a large picture and offered nothing", {
        "gui/explore/test_small_picture.py": ("each_refusal_of_the_simulator_offers_a_small_picture",),
        "gui/explore/test_regions.py": (
            "the_panel_kernel_offers_a_part_of_the_picture_to_the_simulator",
            "the_simulator_gets_512_by_512_around_the_region",
        ),
    }),
    "D12": ("stale panels looked current", {
        "gui/explore/results/test_newest_run.py": (
            "what_is_for_an_earlier_problem_is_dimmed_until_that_is_back",
            "a_kernel_on_the_cpu_says_nothing_of_blocks_that_runs_would_compare",
        ),
        "gui/explore/results/test_plots.py": ("rows_of_an_earlier_problem_are_dimmed_and_named",),
    }),
    "D13": ("menus had 40 and 52 lines, and the column Variant could be hidden", {
        "gui/explore/results/test_results_panel.py": (
            "the_column_menu_has_eight_columns_and_groups_and_never_the_variant",
        ),
        "gui/explore/results/test_plots.py": ("any_metric_can_be_the_axis_from_a_menu_of_eight_and_groups",),
    }),
    "D14": ("rows of table, plot and list were not linked; nothing had a menu", {
        "gui/explore/results/test_explore_window.py": (
            "a_click_on_a_bar_selects_row_kernel_and_reasons",
            "two_rows_show_their_difference_in_the_picture_until_one_is_selected",
            "the_picture_has_a_menu",
        ),
        "gui/explore/results/test_plots.py": ("the_plot_can_be_copied_and_saved_with_all_its_rows",),
        "real_window/test_running.py": (
            "a_double_click_restores_the_settings_of_a_run",
            "two_rows_show_their_difference_until_one_is_selected",
        ),
    }),
    "D15": ("Block sizes had no button, and simulated runs no numbers", {
        "gui/explore/results/test_explore_window.py": (
            "return_in_the_list_of_blocks_compares_them",
            "compare_takes_the_common_blocks_where_none_are_written",
        ),
        "gui/explore/blocks/test_blocks_panel.py": ("simulated_runs_have_counts_in_place_of_times",),
    }),
    "D16": ("the patch to find could only be typed", {
        "gui/explore/test_regions.py": ("the_patch_to_find_is_dragged",),
    }),
    "D17": ("the window crept down, Ctrl+E was swallowed, bars had no scale, messages stayed", {
        "real_window/test_pages.py": (
            "the_next_start_looks_as_the_last_end_and_has_its_picture_at_a_key",
        ),
        "gui/shell/test_docks.py": ("the_window_opens_where_it_was_left",),
        "gui/shell/test_main_window.py": (
            "the_keys_of_an_action_act_in_a_number_field_that_has_a_use_for_them_too",
        ),
        "gui/shell/test_messages.py": ("information_that_expired_under_an_error_is_counted_no_more",),
        "gui/explore/results/test_plots.py": ("the_selected_run_says_what_it_cost",),
        "real_window/test_panels.py": ("a_panel_dropped_over_the_window_has_a_frame_in_each_theme",),
        "gui/explore/test_files.py": ("the_menu_of_samples_says_how_large_each_is",),
    }),
    "1": ("two blocks of one kernel had one row, and none could be the baseline", {
        "gui/explore/results/test_plots.py": ("each_block_layout_and_type_has_a_row_of_its_own",),
        "gui/explore/results/test_results_panel.py": ("a_row_can_be_used_as_baseline",),
        "real_window/test_running.py": ("the_menu_of_a_row_makes_it_the_baseline",),
    }),
    "2": ("the breakdown did not follow the selected row", {
        "gui/explore/results/test_explore_window.py": ("the_newest_result_is_selected_everywhere",),
        "gui/explore/results/test_plots.py": ("the_selected_run_says_what_it_cost",),
    }),
    "3": ("numbers of the model of work that a row shows did not add up", {
        "gui/widgets/test_run_tooltip.py": ("the_numbers_of_the_model_add_up_as_they_are_shown",),
        "gui/explore/tile/test_tile_words.py": (
            "counting_all_windows_at_once_is_counting_one_after_the_other",
        ),
    }),
    "4": ("Ctrl+Z in a number box took back nothing", {
        "gui/shell/test_main_window.py": ("ctrl_z_in_a_number_field_undoes_the_last_edit",),
        "real_window/test_undoing.py": ("typed_rows_are_taken_back",),
    }),
    "5": ("a text pasted into Mask as text went in between the old one", {
        "gui/explore/mask/test_mask_panel.py": (
            "a_text_that_is_pasted_into_the_dialog_takes_the_place_of_the_mask",
        ),
    }),
    "6": ("the status line was off the screen at the first start", {
        "gui/shell/test_main_window.py": ("a_first_start_fits_the_screen_with_its_frame",),
    }),
    "7": ("the heads and names of the speed-ups were cut", {
        "gui/shell/test_main_window.py": ("every_page_fits_without_a_word_cut",),
        "gui/explore/results/test_plots.py": (
            "numbers_are_not_cut_at_any_width",
            "no_name_of_a_kernel_is_cut_where_the_plot_is_as_wide_as_at_first",
        ),
    }),
    "8": ("the table did not say of which mask a row was", {
        "gui/explore/results/test_results_panel.py": (
            "what_is_the_same_stands_above_the_table_unless_its_column_is_chosen",
            "the_columns_that_matter_most_are_seen_in_a_narrow_window",
        ),
    }),
    "9": ("few kernels were in sight", {
        "gui/explore/kernel/test_kernel_panel.py": (
            "kernels_stand_in_groups_that_open_and_close",
            "kernels_without_a_gpu_are_one_line_whatever_their_groups",
        ),
    }),
    "10": ("generators were on the command line alone", {
        "gui/explore/mask/test_library.py": (
            "the_library_lists_every_preset_and_generator",
            "sliding_is_live_and_one_step_to_undo",
        ),
    }),
    "11": ("the divisor and fractions were not kept", {
        "gui/explore/mask/test_mask_panel.py": ("a_typed_divisor_and_fractions_are_shown_as_typed",),
        "gui/explore/test_sessions.py": ("a_session_keeps_the_mask_as_it_was_typed",),
    }),
    "12": ("after undo the mask had the wrong name", {
        "gui/explore/mask/test_mask_panel.py": ("the_button_names_the_mask_also_of_a_step_that_is_undone",),
        "gui/explore/test_undo.py": ("times_and_name_come_back_with_the_settings",),
    }),
    "13": ("a crash or a quit lost everything", {
        "real_window/test_sessions.py": ("a_killed_program_loses_no_edit_that_was_kept",),
        "gui/shell/test_recovery.py": ("work_of_a_crash_is_offered_and_restored",),
    }),
    "14": ("Load on the page Course led nowhere without a GPU", {
        "gui/course/test_course_controller.py": ("a_kernel_is_offered_unless_it_cannot_be_loaded",),
        "gui/course/test_panels.py": ("a_configuration_can_be_loaded_or_the_reason_names_what_is_missing",),
        "gui/explore/test_small_picture.py": (
            "a_papers_kernel_without_a_gpu_comes_with_a_button_that_runs_it",
        ),
    }),
    "15": ("the button Try 16 × 16 chose the simulator and ran nothing", {
        "gui/matrices/test_page.py": (
            "what_cannot_run_is_told_with_the_simulator_as_a_way_out_that_runs_it",
        ),
    }),
    "16": ("each page had a button of its own to run", {
        "gui/shell/test_main_window.py": (
            "the_one_button_run_runs_every_page",
            "either_run_or_cancel_can_be_chosen",
            "run_all_fills_what_shows_runs",
        ),
        "real_window/test_pages.py": ("a_page_runs_and_saves_its_rows",),
    }),
    "17": ("settings had no label or a word that nobody knew", {
        "gui/explore/kernel/test_kernel_panel.py": (
            "each_setting_has_a_label_with_a_letter_of_its_own_that_brings_the_focus_there",
        ),
        "gui/shell/test_main_window.py": ("every_control_of_every_page_is_explained",),
    }),
    "18": ("messages moved the picture and never left", {
        "gui/shell/test_main_window.py": ("a_message_does_not_move_the_picture",),
        "gui/shell/test_messages.py": (
            "only_information_expires",
            "information_that_expired_under_an_error_is_counted_no_more",
        ),
    }),
    "19": ("controls looked as if they were in use that were not", {
        "gui/explore/kernel/test_kernel_controls.py": (
            "automatic_on_the_cpu_says_that_the_block_is_not_used",
            "on_the_cpu_the_chosen_layout_is_greyed",
        ),
    }),
    "20": ("a kernel that was slower had a ratio of 0.00", {
        "gui/explore/results/test_results_panel.py": ("each_kind_of_value_is_written_in_its_own_way",),
    }),
}  # fmt: skip


def test_that_every_defect_is_listed():
    assert list(DEFECTS) == [*(f"D{number}" for number in range(1, 18)), *map(str, range(1, 21))]


@pytest.mark.parametrize("defect", DEFECTS)
def test_that_a_defect_has_its_tests(defect):
    _, tests = DEFECTS[defect]
    assert tests
    for path, names in tests.items():
        body = ast.parse((TESTS / path).read_text(encoding="utf-8")).body
        found = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        assert {f"test_that_{name}" for name in names} <= found, path
