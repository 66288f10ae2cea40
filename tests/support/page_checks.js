// What is wrong with a page as it is seen now: a list of sentences.
() => {
  const found = [], seen = element => element.checkVisibility({checkVisibilityCSS: true});
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth)
    found.push(`the page is ${root.scrollWidth} pixels wide, of ${root.clientWidth}`);
  const scrolls = style => /auto|scroll/.test(style.overflowX + style.overflowY);

  // Every line of text that is seen, as a box.
  const boxes = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, parent = node.parentElement;
    if (!node.data.trim() || parent.closest("script, style, title, option") || !seen(parent)) continue;
    if (getComputedStyle(parent).opacity === "0") continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const within = [];                  // what cuts off, and what scrolls
    for (let up = parent; up && up !== document.body; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (scrolls(style) || /hidden|clip/.test(style.overflowX + style.overflowY)) within.push(up);
    }
    for (const rect of range.getClientRects()) {
      if (rect.width < 1 || rect.height < 1) continue;
      const box = {left: rect.left, right: rect.right, top: rect.top, bottom: rect.bottom,
                   text: node.data.trim().slice(0, 40), parent, inside: within[0] || null};
      const frame = within[0];
      if (frame && !scrolls(getComputedStyle(frame))) {
        const edge = frame.getBoundingClientRect();
        if (box.left < edge.left - 1 || box.right > edge.right + 1
            || box.top < edge.top - 2 || box.bottom > edge.bottom + 2)
          found.push(`cut off: ${box.text}`);
      } else if (!frame && (box.right > root.scrollWidth + 1 || box.left < -1))
        found.push(`outside of the page: ${box.text}`);
      boxes.push(box);
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  boxes.forEach((a, i) => {
    for (let j = i + 1; j < boxes.length && boxes[j].top < a.bottom - 3; j++) {
      const b = boxes[j];
      if (a.inside !== b.inside) continue;    // one of them is scrolled
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 2 && high > 3) found.push(`${a.text} overlaps ${b.text}`);
    }
  });

  // What answers a click answers the keyboard.
  const FOCUS = "a[href], button, input, select, summary, [tabindex]:not([tabindex='-1'])";
  for (const element of document.querySelectorAll("body *"))
    if (seen(element) && getComputedStyle(element).cursor === "pointer"
        && !element.closest(FOCUS) && !element.closest("label"))
      found.push(`only a mouse reaches: ${element.outerHTML.slice(0, 80)}`);
  return [...new Set(found)];
}
