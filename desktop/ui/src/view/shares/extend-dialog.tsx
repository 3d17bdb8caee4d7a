/** Extends the time for which a file is stored. */

import { useState } from 'react';
import { secondsOf, type Term } from '../../model/shares/shares.ts';
import { useActions, useAppState, useText } from '../common/context.tsx';
import { Dialog, DialogForm } from '../common/dialog.tsx';
import { TermChoice } from './term-choice.tsx';

export function ExtendDialog({ id }: { id: string }) {
  const text = useText();
  const actions = useActions();
  const name = useAppState(({ shares }) => shares?.find((share) => share.id === id)?.name ?? '');
  const [term, setTerm] = useState<Term>('week');
  const submit = async () => {
    if (await actions.shares.extend(id, secondsOf(term))) actions.open(undefined);
  };
  return (
    <Dialog title={text.t('extend.title', { name })} size="small">
      <DialogForm submit={text.t('share.extend')} onSubmit={() => void submit()}>
        <p className="quiet">{text.t('extend.text')}</p>
        <TermChoice term={term} onChange={setTerm} />
      </DialogForm>
    </Dialog>
  );
}
