/** Runs in every page: reports clicks with a key held, which may mean to leave a download alone. */

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
      // After an update of the extension, this script's runtime has no listener any more.
      void runtime.sendMessage({ type: 'click', keys }).catch(() => {});
    } catch {
      return;
    }
  },
  { capture: true, passive: true },
);
