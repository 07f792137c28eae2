// What on the page cannot be read: texts below the contrast of WCAG AA, and texts that leave the screen sideways.
() => {
  const MAIN = "[data-testid=stMain], [data-testid=stAppScrollToBottomContainer]";
  const parse = value => {
    const found = value.match(/[\d.]+(?:e-?\d+)?/g).map(Number);
    if (!/^(rgba?|color\(srgb)/.test(value)) throw new Error(`cannot read the colour ${value}`);
    const scale = value.startsWith("color(") ? 255 : 1;
    return [...found.slice(0, 3).map(c => c * scale), found.length > 3 ? found[3] : 1];
  };
  const mix = (top, under, alpha) => [0, 1, 2].map(i => top[i] * alpha + under[i] * (1 - alpha));
  const light = colour => colour.map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (one, other) => {
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  // Each ancestor paints its background on what is behind it, and fades itself with all that it holds.
  const paint = (chain, ink, backdrop) => {
    const [element, ...rest] = chain, style = getComputedStyle(element), own = parse(style.backgroundColor);
    const ground = mix(own, backdrop, own[3]);
    const seen = rest.length ? paint(rest, ink, ground) : { ground, ink: mix(ink, ground, ink[3]) };
    const fade = Number(style.opacity);
    return { ground: mix(seen.ground, backdrop, fade), ink: mix(seen.ink, backdrop, fade) };
  };
  const chainOf = element => {
    const chain = [];
    for (let at = element; at; at = at.parentElement) chain.unshift(at);
    return chain;
  };
  const isShown = element => {
    const box = element.getBoundingClientRect();
    return element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && box.width > 1 && box.height > 1;
  };
  const isExempt = (element, style) =>
    /Material/.test(style.fontFamily) || element.closest("label")?.querySelector(":disabled") ||
    element.closest(":disabled, [aria-disabled=true], [inert], script, style, noscript");
  const texts = function* () {
    for (const element of document.body.querySelectorAll("*")) {
      const words = [...element.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent.trim()).join("");
      if (words) yield [element, words, getComputedStyle(element)];
      if (element.matches("input:not([type=radio], [type=checkbox]), textarea") && (element.value || element.placeholder))
        yield element.value
          ? [element, element.value, getComputedStyle(element)]
          : [element, element.placeholder, getComputedStyle(element, "::placeholder")];
    }
  };
  const leaves = element => {
    const box = element.getBoundingClientRect();
    if (box.right <= innerWidth + 1 && box.left >= -1) return false;
    const scrolls = at => /auto|scroll/.test(getComputedStyle(at).overflowX) && !at.matches(MAIN);
    return !chainOf(element).some(scrolls);
  };
  const found = [];
  let seen = 0;
  for (const [element, words, style] of texts()) {
    if (!isShown(element) || isExempt(element, style)) continue;
    seen += 1;
    const { ground, ink } = paint(chainOf(element), parse(style.color), [255, 255, 255]);
    const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = contrast(ground, ink);
    const told = `${element.tagName.toLowerCase()} “${words.slice(0, 40)}”`;
    if (ratio < (isLarge ? 3 : 4.5)) found.push(`contrast ${ratio.toFixed(2)}: ${told}`);
    if (leaves(element)) found.push(`leaves the screen: ${told}`);
  }
  const main = document.querySelector(MAIN);
  if (main.scrollWidth > main.clientWidth) found.push(`the page is ${main.scrollWidth} wide on ${main.clientWidth}`);
  if (!seen) found.push("there is no text");
  return [...new Set(found)];
}
