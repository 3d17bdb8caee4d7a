/** Extends the time for which a file is stored. */

import { useState } from 'react';
import { allowedTerm, secondsOf, type Term, termsFor } from '../../model/shares/shares.ts';
import { useActions, useAppState, useText } from '../common/context.tsx';
import { Dialog, DialogForm } from '../common/dialog.tsx';
import { useDepotChecks } from './depot-checks.ts';
import { shareName } from './share-words.ts';
import { TermChoice } from './term-choice.tsx';

export function ExtendDialog({ id }: { id: string }) {
  const text = useText();
  const actions = useActions();
  const share = useAppState(({ shares }) => shares?.find((one) => one.id === id));
  const name = share === undefined ? '' : shareName(text, share);
  const depots = useAppState(({ settings }) => settings?.depots);
  const [wanted, setTerm] = useState<Term>('week');
  // A place that is not set up any more cannot be asked.
  const origins = new Set(share?.places.map(({ depot }) => new URL(depot).origin));
  const urls = depots?.map(({ url }) => url).filter((url) => origins.has(new URL(url).origin));
  const checks = useDepotChecks(urls ?? []);
  const terms = termsFor([...checks.values()]);
  const term = allowedTerm(wanted, terms);
  const submit = async () => {
    if (await actions.shares.extend(id, secondsOf(term))) actions.open(undefined);
  };
  return (
    <Dialog title={text.t('extend.title', { name })} size="small">
      <DialogForm submit={text.t('share.extend')} onSubmit={() => void submit()}>
        <p className="quiet">{text.t('extend.text')}</p>
        <TermChoice term={term} terms={terms} onChange={setTerm} />
      </DialogForm>
    </Dialog>
  );
}
