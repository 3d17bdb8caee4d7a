/** Elements, and charts drawn with them. */

import { longAgo } from './words.js';

const SVG = 'http://www.w3.org/2000/svg';

/**
 * @typedef {string | number | undefined | Node | readonly (Node | string)[]} Content
 * @param {string} tag
 * @param {Record<string, string | number | undefined>} [attributes]
 * @param {...Content} content
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...content) {
  return /** @type {HTMLElement} */ (filled(document.createElement(tag), attributes, content));
}

/**
 * @param {string} tag
 * @param {Record<string, string | number | undefined>} [attributes]
 * @param {...Content} content
 */
export function shape(tag, attributes = {}, ...content) {
  return filled(document.createElementNS(SVG, tag), attributes, content);
}

/**
 * @param {Element} made
 * @param {Record<string, string | number | undefined>} attributes
 * @param {readonly Content[]} content
 */
function filled(made, attributes, content) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) made.setAttribute(name, String(value));
  }
  for (const part of content.flat()) {
    if (part !== undefined) made.append(/** @type {Node | string} */ (part));
  }
  return made;
}

/**
 * A frame with lines for round values and times, into which charts are drawn.
 *
 * @param {{ width: number, height: number, label: string, top: string, seconds: number }} frame
 */
export function chartFrame({ width, height, label, top, seconds }) {
  const svg = shape('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img' });
  svg.classList.add('chart');
  svg.setAttribute('aria-label', label);
  const bottom = height - 18;
  for (const y of [0.5, Math.round(bottom / 2) + 0.5, bottom - 0.5]) {
    svg.append(shape('path', { class: 'grid', d: `M0 ${y}H${width}` }));
  }
  svg.append(
    shape('text', { class: 'axis', x: 4, y: 12 }, top),
    shape('text', { class: 'axis', x: 0, y: height - 4 }, `${longAgo(seconds)} ago`),
    shape('text', { class: 'axis', x: width, y: height - 4, 'text-anchor': 'end' }, 'now'),
  );
  return { svg, bottom };
}

/**
 * A line through values, the last of them at the right; gaps stay open.
 *
 * @param {readonly (number | undefined)[]} values 0 to 1
 * @param {{ width: number, bottom: number, slots: number }} place
 */
export function linePath(values, { width, bottom, slots }) {
  let path = '';
  let open = false;
  values.forEach((value, i) => {
    if (value === undefined) {
      open = false;
      return;
    }
    const x = xOf(i, values.length, width, slots);
    const y = (bottom - 1 - Math.min(1, value) * (bottom - 3)).toFixed(1);
    path += open ? `L${x} ${y}` : `M${x} ${y}h0.01`;
    open = true;
  });
  return path;
}

/**
 * Bars from one height to another, the last of them at the right.
 *
 * @param {readonly (readonly [from: number, to: number] | undefined)[]} spans 0 to 1
 * @param {{ width: number, bottom: number, slots: number }} place
 */
export function barPath(spans, { width, bottom, slots }) {
  const wide = Math.max(1, width / slots).toFixed(2);
  return spans
    .map((spanned, i) => {
      if (spanned === undefined || spanned[1] <= spanned[0]) return '';
      const [low, high] = spanned.map((share) => bottom - share * (bottom - 2));
      const x = Number(xOf(i, spans.length, width, slots)) - Number(wide);
      return `M${x.toFixed(2)} ${low?.toFixed(1)}V${high?.toFixed(1)}h${wide}V${low?.toFixed(1)}z`;
    })
    .join('');
}

/**
 * @param {number} i
 * @param {number} length
 * @param {number} width
 * @param {number} slots
 */
function xOf(i, length, width, slots) {
  return (width - ((length - 1 - i) * width) / slots).toFixed(1);
}

/**
 * Draws a legend: colours, names and figures.
 *
 * @param {readonly { name: string, text: string, value: string }[]} entries
 */
export function legend(entries) {
  return element(
    'ul',
    { class: 'legend' },
    entries.map(({ name, text, value }) =>
      element('li', {}, element('span', { class: `key ${name}` }), `${text} `, [
        element('b', { class: 'figures' }, value),
      ]),
    ),
  );
}
