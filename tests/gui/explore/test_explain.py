"""The panel Explain: one head over its segments, and the whole page for it."""


def test_that_the_head_names_the_selected_kernel_and_its_block(haloscope):
    page = haloscope.window.page
    page.selection.select("tiled")
    known = page.selection.known
    assert page.explain_head.kernel.text() == f"{known.title}, block {page.selection.block}"
    page.selection.select("cpu-serial")
    assert page.explain_head.kernel.text() == page.selection.known.title


def test_that_explain_has_the_whole_page_until_another_panel_is_wanted(haloscope):
    page = haloscope.window.page
    page.bring_to_front("launch")
    page.explain_head.room.click()
    assert page.panel("launch").isVisible()
    assert not any(page.panel(name).isVisible() for name in ("mask", "kernel", "results"))
    page.bring_to_front("tile")
    assert page.explain_head.room.isChecked()
    page.bring_to_front("kernel")
    assert not page.explain_head.room.isChecked()
    assert all(page.panel(name).isVisible() for name in ("mask", "kernel", "results", "tile"))
