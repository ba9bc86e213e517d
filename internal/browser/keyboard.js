// Records what the keyboard reaches from the top of the page, in window.reached, and returns how many elements it should reach.
// Of radio buttons that is the chosen one: arrows choose the others.
(() => {
	const wanted = [...document.querySelectorAll("a[href], button, input:not([type='radio']), input:checked, select, summary, [tabindex='0']")].filter((e) => e.checkVisibility());
	window.reached = { missing: [...wanted.keys()], hidden: [], name: (i) => (wanted[i].getAttribute("aria-label") ?? wanted[i].textContent).trim() };
	document.addEventListener("focusin", ({ target }) => {
		const place = wanted.indexOf(target);
		if (place < 0) return; // a browser's own, such as a region that scrolls
		if (window.reached.missing[0] === place) window.reached.missing.shift();
		const how = getComputedStyle(target);
		if (how.outlineStyle === "none" || parseFloat(how.outlineWidth) === 0) window.reached.hidden.push(place);
	});
	return wanted.length;
})()
