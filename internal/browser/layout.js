// Returns what is wrong with the layout of the page, as a list of sentences.
(() => {
	const wrong = [];
	const root = document.documentElement;
	if (root.scrollWidth > root.clientWidth) wrong.push(`the page scrolls: it is ${root.scrollWidth} px wide`);

	// Labels of figures lie within them, and not on each other. Those of a group of marks may.
	for (const svg of document.querySelectorAll("figure > svg")) {
		const frame = svg.getBoundingClientRect();
		if (frame.width === 0) continue;
		const name = svg.getAttribute("aria-label");
		const labels = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim() !== "")
			.map((text) => ({ text: text.firstChild.textContent, free: text.classList.contains("tag"), box: text.getBoundingClientRect() }));
		for (const { text, box } of labels) {
			if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
				wrong.push(`"${text}" is cut off in the figure "${name}"`);
		}
		labels.forEach((a, i) => labels.slice(i + 1).forEach((b) => {
			const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
			const tall = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
			if (!a.free && !b.free && wide > 1 && tall > 4) wrong.push(`"${a.text}" and "${b.text}" lie on each other in the figure "${name}"`);
		}));
	}

	// Tables show all of their columns.
	for (const region of document.querySelectorAll(".scroll")) {
		if (region.checkVisibility() && region.scrollWidth > region.clientWidth) wrong.push(`columns of the table "${region.getAttribute("aria-label")}" are hidden`);
	}

	// Texts are not cut off by what they stand in. Regions that scroll show all of theirs.
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) {
		const text = texts.currentNode, parent = text.parentElement;
		if (text.textContent.trim() === "" || parent.closest("svg, script, style, #tip") || !parent.checkVisibility()) continue;
		const range = document.createRange();
		range.selectNodeContents(text);
		const box = range.getBoundingClientRect();
		for (let around = parent; ; around = around.parentElement) {
			if (around === null || around === document.body) {
				if (box.right > root.clientWidth + 1 || box.left < -1) wrong.push(`"${text.textContent.trim()}" leaves the page`);
				break;
			}
			const how = getComputedStyle(around);
			if (how.clipPath !== "none") break; // for screen readers alone
			if (/auto|scroll/.test(how.overflowX)) break;
			const frame = around.getBoundingClientRect();
			if (/hidden|clip/.test(how.overflowX) && (box.right > frame.right + 1 || box.left < frame.left - 1)) {
				wrong.push(`"${text.textContent.trim()}" is cut off`);
				break;
			}
		}
	}
	return wrong;
})()
