/** Passing messages; a message waits while it is pointed at or has the focus. */

import { IconButton } from '@millrace/shared/ui/icon-button';
import { useEffect, useState } from 'react';
import { UNDO_MS } from '../../model/actions.ts';
import type { Toast as ToastState } from '../../model/toasts.ts';
import { useApp, useAppState, useText } from './context.tsx';

const PLAIN_MS = 4000;
const BAD_MS = 12_000;

export function Toasts() {
  const text = useText();
  const toasts = useAppState((state) => state.toasts);
  return (
    <section className="toasts" aria-label={text.t('toast.label')} aria-live="polite">
      {toasts.map((toast) => (
        <Toast key={toast.id} toast={toast} />
      ))}
    </section>
  );
}

function Toast({ toast }: { toast: ToastState }) {
  const text = useText();
  const app = useApp();
  const [held, setHeld] = useState(false);
  const { id, kind, action } = toast;
  useEffect(() => {
    // An offer to undo runs out even while the pointer rests on it.
    if (held && action === undefined) return;
    const shown = action !== undefined ? UNDO_MS : kind === 'bad' ? BAD_MS : PLAIN_MS;
    const timer = setTimeout(() => app.dismiss(id), shown);
    return () => clearTimeout(timer);
  }, [app, id, kind, action, held]);
  const hold = (on: boolean) => () => action === undefined && setHeld(on);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a message only waits while it is read.
    <div
      className={`toast ${kind}`}
      onPointerEnter={hold(true)}
      onPointerLeave={hold(false)}
      onFocus={hold(true)}
      onBlur={hold(false)}
    >
      <span>{toast.text}</span>
      {action !== undefined && (
        <button
          type="button"
          className="toast-action"
          onClick={() => {
            app.dismiss(id);
            action.run();
          }}
        >
          {action.label}
        </button>
      )}
      <IconButton
        name="close"
        size={14}
        label={text.t('toast.dismiss')}
        onClick={() => app.dismiss(id)}
      />
    </div>
  );
}
