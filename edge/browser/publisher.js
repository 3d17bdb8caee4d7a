/** Script of the page for publishers: it copies texts, and shows that a check is under way. */

for (const snippet of document.querySelectorAll('.snippet')) {
  const label = snippet.querySelector('dt')?.textContent ?? '';
  const text = snippet.querySelector('code')?.textContent ?? '';
  snippet.querySelector('dd')?.append(copyButton(label, text));
}

/**
 * @param {string} label
 * @param {string} text
 */
function copyButton(label, text) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button small';
  button.textContent = 'Copy';
  button.setAttribute('aria-label', `Copy ${label}`);
  button.addEventListener('click', async () => {
    button.textContent = (await copy(text)) ? 'Copied' : 'Press Ctrl+C';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  return button;
}

/**
 * Copies a text. Without HTTPS browsers have no clipboard for pages, but the old command works.
 *
 * @param {string} text
 */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'hidden';
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

const form = document.querySelector('.ask-form');
form?.addEventListener('submit', () => {
  const status = document.querySelector('.asking');
  if (status !== null) status.textContent = 'Asking the origin. This can take some seconds.';
  form.querySelector('button')?.setAttribute('aria-busy', 'true');
});
