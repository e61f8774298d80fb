// Whether text can be read: the contrast of what a page shows, as the Web Content Accessibility Guidelines define it.

/** The words that have less than 4.5:1 to what is behind them, of the elements that `selector` finds in a page or frame. */
export function illegible(frame, selector) {
  return frame.locator(selector).evaluateAll((elements) => {
    const { getComputedStyle } = globalThis;
    const colour = (text) => {
      const [red, green, blue, alpha = 1] = text.match(/[\d.]+/g).map(Number);
      return { rgb: [red, green, blue], alpha };
    };
    const over = (top, below) => top.rgb.map((part, at) => part * top.alpha + below[at] * (1 - top.alpha));
    const behind = (element) => {
      if (element === null) return [255, 255, 255];
      const own = colour(getComputedStyle(element).backgroundColor);
      return own.alpha === 1 ? own.rgb : over(own, behind(element.parentElement));
    };
    const luminance = (rgb) => {
      const linear = rgb.map((part) => (part <= 10 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    };
    return elements
      .filter((element) => element.textContent.trim() !== "")
      .flatMap((element) => {
        const style = getComputedStyle(element);
        const background = behind(element);
        const text = colour(element.namespaceURI.endsWith("/svg") ? style.fill : style.color);
        const [low, high] = [over({ ...text, alpha: text.alpha * Number(style.opacity) }, background), background]
          .map(luminance)
          .sort((one, other) => one - other);
        const ratio = (high + 0.05) / (low + 0.05);
        return ratio < 4.5 ? [`${element.textContent.trim()}: ${ratio.toFixed(2)}`] : [];
      });
  });
}
