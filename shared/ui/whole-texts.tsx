/** Shows the whole of a text that its place has cut (the style `cut`) while the pointer is over it. */

/** Watches a page from now on. Texts that have a title of their own keep it. */
export function showWholeTexts(page: Document): void {
  page.addEventListener('pointerover', ({ target }) => {
    const text = target instanceof Element ? target.closest<HTMLElement>('.cut') : null;
    if (text === null || (text.title !== '' && text.dataset.whole === undefined)) return;
    const isCut = text.scrollWidth > text.clientWidth;
    text.title = isCut ? (text.textContent ?? '') : '';
    if (isCut) text.dataset.whole = '';
  });
}
