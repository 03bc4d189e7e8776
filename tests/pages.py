"""What is measured of a page in a real browser: JavaScript expressions."""

from __future__ import annotations

SIZES = """[...document.querySelectorAll('figure svg')].map(one => one.getBoundingClientRect()).map(box =>
  ({width: box.width, height: box.height}))"""
# Everything that reaches past the right edge and lies in no box that scrolls by itself.
BEYOND = """[...document.body.querySelectorAll('*')].filter(one =>
  !one.parentElement.closest('.scroll') &&
  one.getBoundingClientRect().right > document.documentElement.clientWidth + 1
).map(one => one.tagName + '.' + one.className)"""
WIDTHS = "[document.scrollingElement.scrollWidth, document.scrollingElement.clientWidth]"
CUT = """[...document.querySelectorAll('table')].filter(table =>
  table.scrollWidth > table.parentElement.clientWidth + 1).map(table => table.id)"""
# Lowest contrast of any text with what is behind it, WCAG 2.
CONTRAST = """(() => {
  const linear = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = rgb => { const [r, g, b] = rgb.map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const behind = one => { for (; one; one = one.parentElement) {
    const found = parts(getComputedStyle(one).backgroundColor);
    if (found.length < 4 || found[3] > 0) return found.slice(0, 3); }
    return [255, 255, 255]; };
  return Math.min(...[...document.body.querySelectorAll('*')]
    .filter(one => [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim()))
    .map(one => { const [a, b] = [light(parts(getComputedStyle(one).color).slice(0, 3)), light(behind(one))];
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); })); })()"""
UNFOLD = "document.querySelectorAll('details').forEach(one => one.open = true)"
