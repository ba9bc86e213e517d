
"use strict";
{
	// The tooltips of this page take the place of the browser's, which come late and not on touch.
	const tip = document.createElement("div");
	tip.id = "tip";
	tip.hidden = true;
	tip.setAttribute("aria-hidden", "true");
	document.body.append(tip);
	for (const svg of document.querySelectorAll("figure > svg")) {
		const [title, about] = svg.children;
		svg.setAttribute("aria-label", title.textContent);
		svg.setAttribute("aria-describedby", about.id);
		svg.removeAttribute("aria-labelledby");
		title.remove();
		for (const own of svg.querySelectorAll("title")) {
			own.parentElement.dataset.tip = own.textContent;
			own.remove();
		}
	}
	const show = (event) => {
		const mark = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
		tip.hidden = mark === null;
		if (mark === null) return;
		tip.textContent = mark.dataset.tip;
		const gap = 12, box = tip.getBoundingClientRect();
		const left = Math.min(event.clientX + gap, document.documentElement.clientWidth - box.width - 4);
		const above = event.clientY - box.height - gap;
		tip.style.left = Math.max(4, left) + "px";
		tip.style.top = (above > 4 ? above : event.clientY + gap) + "px";
	};
	document.addEventListener("pointermove", show, { passive: true });
	document.addEventListener("pointerdown", show, { passive: true });
	document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true, capture: true });
	document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
}
