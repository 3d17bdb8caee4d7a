/** A dialog over the page: has a title, is closed by Escape, and keeps the focus inside. */

import { Icon } from '@millrace/shared/ui/icons';
import * as Radix from '@radix-ui/react-dialog';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useActions, useText } from './context.tsx';

interface DialogProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly size?: 'small' | 'medium' | 'large';
  readonly alert?: boolean;
}

/** First focus: a field, the page of the settings, or the button that does nothing. */
const FIRST =
  'textarea, input:not([hidden]):not([type="checkbox"]), select, ' +
  '[role="tab"][data-state="active"], .dialog-foot .button:not(:disabled)';

export function Dialog({ title, children, size = 'medium', alert = false }: DialogProps) {
  const text = useText();
  const actions = useActions();
  const [before] = useState(() => document.activeElement);
  const begin = (event: Event) => {
    const first = (event.currentTarget as HTMLElement).querySelector<HTMLElement>(FIRST);
    if (first === null) return;
    event.preventDefault();
    first.focus();
  };
  // A dialog that a key has opened has no button to give the focus back to, and one of the side bar may be hidden.
  const giveBack = (event: Event) => {
    event.preventDefault();
    const isThere = before instanceof HTMLElement && before.isConnected && before !== document.body;
    const target =
      isThere && getComputedStyle(before).visibility !== 'hidden'
        ? before
        : document.querySelector<HTMLElement>('[role="grid"]');
    target?.focus();
  };
  return (
    <Radix.Root open onOpenChange={(open) => !open && actions.open(undefined)}>
      <Radix.Portal>
        <Radix.Overlay className="veil" />
        <Radix.Content
          className={`dialog ${size}`}
          aria-describedby={undefined}
          onOpenAutoFocus={begin}
          onCloseAutoFocus={giveBack}
          {...(alert ? { role: 'alertdialog' } : {})}
        >
          <div className="dialog-head">
            <Radix.Title title={title}>{title}</Radix.Title>
            <Radix.Close className="icon-button small" aria-label={text.t('word.close')}>
              <Icon name="close" />
            </Radix.Close>
          </div>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface FormProps {
  readonly submit: string;
  readonly disabled?: boolean;
  readonly danger?: boolean;
  readonly onSubmit: () => void;
  readonly children: ReactNode;
}

/** The body of a dialog that is submitted by a button. */
export function DialogForm({ submit, disabled = false, danger, onSubmit, children }: FormProps) {
  const text = useText();
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (!disabled) onSubmit();
  };
  return (
    <form className="dialog-form" onSubmit={send} noValidate>
      <div className="dialog-body">{children}</div>
      <div className="dialog-foot">
        <Radix.Close className="button" type="button">
          {text.t('word.cancel')}
        </Radix.Close>
        <button
          type="submit"
          className={`button ${danger ? 'danger' : 'primary'}`}
          disabled={disabled}
        >
          {submit}
        </button>
      </div>
    </form>
  );
}
