/** In every page: tells of clicks with a key held, by which a download may be left alone. */

const runtime = chrome.runtime;

addEventListener(
  'click',
  ({ altKey, shiftKey, ctrlKey, metaKey, isTrusted }) => {
    if (!isTrusted || !(altKey || shiftKey || ctrlKey || metaKey)) return;
    const keys = [
      ...(altKey ? ['alt'] : []),
      ...(shiftKey ? ['shift'] : []),
      ...(ctrlKey || metaKey ? ['ctrl'] : []),
    ];
    try {
      // After an update of the extension there is no listener any more.
      void runtime.sendMessage({ type: 'click', keys }).catch(() => {});
    } catch {
      return;
    }
  },
  { capture: true, passive: true },
);
