/** Invites a guest to send a file: reserves space in a depot, and shows its links. */

import type { Invitation } from '@millrace/shared/bridge/rpc/share-api';
import { Choice, Field } from '@millrace/shared/ui/fields';
import { useState } from 'react';
import {
  allowedTerm,
  guestSizes,
  secondsOf,
  type Term,
  termsFor,
} from '../../model/shares/shares.ts';
import { bytes, hostOf } from '../../text/format.ts';
import { useActions, useApp, useText } from '../common/context.tsx';
import { Dialog, DialogForm } from '../common/dialog.tsx';
import { useDepotChecks } from './depot-checks.ts';
import { TermChoice } from './term-choice.tsx';

/** Size that is offered first, bytes. */
const USUAL_BYTES = 1024 ** 3;

export function InviteDialog({ url }: { url: string }) {
  const text = useText();
  const app = useApp();
  const actions = useActions();
  const [wanted, setTerm] = useState<Term>('week');
  const [wantedBytes, setBytes] = useState(USUAL_BYTES);
  const [made, setMade] = useState<Invitation | undefined>(undefined);
  const check = useDepotChecks([url]).get(url);
  const terms = termsFor(check === undefined ? [] : [check]);
  const sizes = guestSizes(check);
  const term = allowedTerm(wanted, terms);
  const size = sizes.includes(wantedBytes) ? wantedBytes : (sizes[sizes.length - 1] ?? 0);
  const title = text.t('invite.title');
  const submit = async () => {
    const asked = app.call('millrace.invite', { url, bytes: size, seconds: secondsOf(term) });
    setMade(await app.attempt(asked));
  };
  if (made !== undefined) {
    return (
      <Dialog title={title}>
        <DialogForm submit={text.t('invite.done')} onSubmit={() => actions.open(undefined)}>
          <p className="quiet">{text.t('invite.kept')}</p>
          <Link label={text.t('invite.link')} note={text.t('invite.link.note')} link={made.link} />
          <Link label={text.t('invite.file')} note={text.t('invite.file.note')} link={made.file} />
          <Link
            label={text.t('invite.manage')}
            note={text.t('invite.manage.note')}
            link={made.manage}
          />
        </DialogForm>
      </Dialog>
    );
  }
  return (
    <Dialog title={title}>
      <DialogForm
        submit={text.t('invite.submit')}
        disabled={sizes.length === 0}
        onSubmit={() => void submit()}
      >
        <p className="quiet">{text.t('invite.text', { depot: hostOf(url) })}</p>
        {sizes.length === 0 ? (
          <p className="note bad">{text.t('send.depots.noRoom')}</p>
        ) : (
          <Choice
            label={text.t('invite.size')}
            options={sizes.map((one) => ({ value: String(one), label: bytes(text, one) }))}
            value={String(size)}
            onChange={(value) => setBytes(Number(value))}
          />
        )}
        <TermChoice term={term} terms={terms} onChange={setTerm} />
      </DialogForm>
    </Dialog>
  );
}

interface LinkProps {
  readonly label: string;
  readonly note: string;
  readonly link: string;
}

function Link({ label, note, link }: LinkProps) {
  const text = useText();
  const actions = useActions();
  return (
    <Field
      label={label}
      note={note}
      value={link}
      readOnly
      after={
        <button
          type="button"
          className="button"
          aria-label={`${text.t('share.copy')}: ${label}`}
          onClick={() => void actions.shares.copy(link)}
        >
          {text.t('share.copy')}
        </button>
      }
    />
  );
}
