/** The user's list of keys that may vouch for files. */

import type { KeyList } from '@millrace/shared/bridge/rpc/settings-api';
import { Field, Lines } from '@millrace/shared/ui/fields';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { type FormEvent, useEffect, useState } from 'react';
import { useApp, useText } from '../common/context.tsx';

/** Returns a fingerprint as people compare it. */
const inFours = (fingerprint: string) => fingerprint.replace(/.{4}(?=.)/g, '$& ');

const EMPTY = { text: '', fingerprint: '', patterns: '' };

export function KeySection() {
  const text = useText();
  const app = useApp();
  const [found, setFound] = useState<KeyList | 'refused' | undefined>(undefined);
  const [draft, setDraft] = useState(EMPTY);
  useEffect(() => {
    app.call('millrace.getKeys', {}).then(setFound, () => setFound('refused'));
  }, [app]);
  const add = async (event: FormEvent) => {
    event.preventDefault();
    const fingerprint = draft.fingerprint.trim();
    const asked = {
      text: draft.text.trim(),
      patterns: draft.patterns.split(/[\s,]+/).filter((pattern) => pattern !== ''),
      ...(fingerprint === '' ? {} : { fingerprint }),
    };
    const changed = await app.attempt(app.call('millrace.addKey', asked));
    if (changed === undefined) return;
    setFound(changed);
    setDraft(EMPTY);
  };
  const remove = async (fingerprint: string) => {
    const left = await app.attempt(app.call('millrace.removeKey', { fingerprint }));
    if (left !== undefined) setFound(left);
  };
  if (found === undefined) return null;
  if (found === 'refused') {
    return (
      <section className="learned">
        <h4>{text.t('keyring.title')}</h4>
        <p className="note">{text.t('after.elsewhere')}</p>
      </section>
    );
  }
  const { keys, shipped } = found;
  return (
    <section className="learned">
      <h4>{text.t('keyring.title')}</h4>
      <p className="note">
        {text.t('keyring.text', { names: shipped.map(({ name }) => name).join(', ') })}
      </p>
      {keys.length > 0 && (
        <ul className="edges keyring">
          {keys.map(({ fingerprint, name, patterns }) => (
            <li key={fingerprint}>
              <div className="edge-name">
                <strong className="cut">{name}</strong>
                <span className="note mono">{inFours(fingerprint)}</span>
                <span className="note">
                  {patterns.length === 0 ? text.t('keyring.all') : patterns.join(', ')}
                </span>
              </div>
              <IconButton
                name="close"
                size={14}
                label={text.t('keyring.remove', { name })}
                onClick={() => void remove(fingerprint)}
              />
            </li>
          ))}
        </ul>
      )}
      <form className="depot-form" onSubmit={(event) => void add(event)} noValidate>
        <Lines
          label={text.t('keyring.key')}
          note={text.t('keyring.key.note')}
          className="mono"
          rows={3}
          value={draft.text}
          onChange={(event) => setDraft({ ...draft, text: event.target.value })}
        />
        <Field
          label={text.t('keyring.fingerprint')}
          note={text.t('keyring.fingerprint.note')}
          value={draft.fingerprint}
          onChange={(event) => setDraft({ ...draft, fingerprint: event.target.value })}
        />
        <Field
          label={text.t('keyring.for')}
          note={text.t('keyring.for.note')}
          placeholder="example.org"
          value={draft.patterns}
          onChange={(event) => setDraft({ ...draft, patterns: event.target.value })}
        />
        <div>
          <button type="submit" className="button" disabled={draft.text.trim() === ''}>
            {text.t('keyring.add')}
          </button>
        </div>
      </form>
    </section>
  );
}
