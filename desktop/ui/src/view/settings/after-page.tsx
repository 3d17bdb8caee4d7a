import {
  type AfterChoice,
  type AfterCommand,
  type AfterSettings,
  DEFAULT_SECONDS,
  PLACES,
  WHEN_DONE,
} from '@millrace/shared/bridge/rpc/settings-api';
import { Field, Lines, Select } from '@millrace/shared/ui/fields';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { Icon } from '@millrace/shared/ui/icons';
import { useState } from 'react';
import { AfterFields, useAfterSettings } from '../common/after-fields.tsx';
import { categoryName } from '../common/category-name.ts';
import { useApp, useAppState, useText } from '../common/context.tsx';
import type { PageProps } from './page-props.ts';
import { SaveButton } from './save-button.tsx';

/** Choices of the field for what is done when all is done. */
const CHOICES = ['nothing', ...WHEN_DONE] as const;

export function AfterPage({ settings }: PageProps) {
  const text = useText();
  const [after, setAfter] = useAfterSettings();
  if (after === undefined) return <p className="note">{text.t('settings.loading')}</p>;
  if (after === 'refused') return <p className="note">{text.t('after.elsewhere')}</p>;
  const categories = settings.categories.map(({ name }) => name);
  return (
    <>
      <p className="quiet">{text.t('after.text')}</p>
      <Rules after={after} categories={categories} onChange={setAfter} />
      <Commands after={after} onChange={setAfter} />
      <Webhook after={after} onChange={setAfter} />
      <WhenAllDone />
    </>
  );
}

interface PartProps {
  readonly after: AfterSettings;
  readonly onChange: (after: AfterSettings) => void;
}

interface AfterChange {
  readonly rules?: AfterSettings['rules'];
  readonly commands?: AfterSettings['commands'];
  readonly webhook?: { readonly url: string; readonly secret?: string } | null;
}

/**
 * Returns a function that stores a change; it returns true once it is stored. A change is told from
 * what the daemon keeps then: other pages and earlier clicks may have changed it.
 */
function useSave(onChange: PartProps['onChange']) {
  const app = useApp();
  return async (change: (now: AfterSettings) => AfterChange) => {
    const stored = await app.attempt(
      app.changes.inTurn(async () => {
        const asked = change(await app.call('millrace.getAfter', {}));
        onChange(await app.call('millrace.setAfter', asked));
        return true;
      }),
    );
    return stored === true;
  };
}

function Rules({ after, categories, onChange }: PartProps & { categories: readonly string[] }) {
  const text = useText();
  const store = useSave(onChange);
  const [category, setCategory] = useState('');
  const [drafts, setDrafts] = useState<Readonly<Record<string, AfterChoice>>>({});
  const isOf = (rule: AfterSettings['rules'][number]) => (rule.category ?? '') === category;
  const { category: _, ...kept } = after.rules.find(isOf) ?? {};
  const draft: AfterChoice = drafts[category] ?? kept;
  const rule = category === '' ? draft : { category, ...draft };
  const save = () =>
    store(({ rules }) => {
      const others = rules.filter((one) => !isOf(one));
      return { rules: Object.keys(draft).length === 0 ? others : [...others, rule] };
    });
  return (
    <section className="learned">
      <h4>{text.t('after.rules')}</h4>
      <Select
        label={text.t('after.for')}
        note={text.t('after.for.help')}
        options={[
          { value: '', label: text.t('after.for.others') },
          ...categories.map((name) => ({ value: name, label: categoryName(text, name) })),
        ]}
        value={category}
        onChange={setCategory}
      />
      <AfterFields
        value={draft}
        commands={after.commands.map(({ name }) => name)}
        hasWebhook={after.webhook !== null}
        onChange={(choice) => setDrafts({ ...drafts, [category]: choice })}
      />
      <SaveButton disabled={JSON.stringify(draft) === JSON.stringify(kept)} save={save} />
    </section>
  );
}

function Commands({ after, onChange }: PartProps) {
  const text = useText();
  const store = useSave(onChange);
  const [name, setName] = useState('');
  const [words, setWords] = useState('');
  const args = words.split('\n').filter((word) => word !== '');
  const remove = ({ name: gone }: AfterCommand) =>
    void store(({ commands }) => ({ commands: commands.filter((one) => one.name !== gone) }));
  const add = async () => {
    const command = { name: name.trim(), args, seconds: DEFAULT_SECONDS };
    const stored = await store(({ commands }) => ({
      commands: [...commands.filter((one) => one.name !== command.name), command],
    }));
    if (stored) {
      setName('');
      setWords('');
    }
    return stored;
  };
  return (
    <section className="learned">
      <h4>{text.t('after.commands')}</h4>
      <ul className="digests">
        {after.commands.map((command) => (
          <li key={command.name}>
            <strong>{command.name}</strong>
            <span className="copyable">
              <span className="mono">{command.args.join(' ')}</span>
              <IconButton
                name="close"
                size={14}
                label={text.t('after.commands.remove', { name: command.name })}
                onClick={() => remove(command)}
              />
            </span>
          </li>
        ))}
      </ul>
      <Field
        label={text.t('after.commands.name')}
        note={text.t('after.commands.name.help')}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <Lines
        label={text.t('after.commands.words')}
        note={text.t('after.commands.help', {
          places: PLACES.map((place) => `{${place}}`).join(', '),
        })}
        className="mono short"
        rows={3}
        placeholder={'/usr/bin/clamscan\n{path}'}
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      <SaveButton disabled={name.trim() === '' || args.length === 0} save={add} />
    </section>
  );
}

function Webhook({ after, onChange }: PartProps) {
  const text = useText();
  const store = useSave(onChange);
  const [url, setUrl] = useState(after.webhook?.url ?? '');
  const [secret, setSecret] = useState('');
  const isSame = url.trim() === (after.webhook?.url ?? '') && secret === '';
  const save = () => {
    if (url.trim() === '') return store(() => ({ webhook: null }));
    const given = secret.trim() === '' ? {} : { secret: secret.trim() };
    return store(() => ({ webhook: { url: url.trim(), ...given } }));
  };
  return (
    <section className="learned">
      <h4>{text.t('after.webhook.title')}</h4>
      <Field
        label={text.t('after.webhook.url')}
        note={text.t('after.webhook.url.help')}
        value={url}
        placeholder="https://example.net/hook"
        spellCheck={false}
        onChange={(event) => setUrl(event.target.value)}
      />
      <Field
        label={text.t('after.webhook.secret')}
        type="password"
        autoComplete="off"
        value={secret}
        note={text.t('after.webhook.help')}
        onChange={(event) => setSecret(event.target.value)}
      />
      <SaveButton disabled={isSame} save={save} />
    </section>
  );
}

function WhenAllDone() {
  const text = useText();
  const app = useApp();
  const what = useAppState(({ totals }) => totals?.whenDone?.what) ?? 'nothing';
  const problem = useAppState(({ totals }) => totals?.whenDone?.problem);
  const set = (next: (typeof CHOICES)[number]) =>
    app.attempt(app.call('millrace.whenDone', { what: next === 'nothing' ? null : next }));
  return (
    <section className="learned">
      <h4>{text.t('after.all')}</h4>
      <Select
        label={text.t('after.all.what')}
        note={text.t('after.all.help')}
        options={CHOICES.map((value) => ({ value, label: text.t(`after.all.${value}`) }))}
        value={what}
        onChange={(next) => void set(next)}
      />
      {problem !== undefined && (
        <p className="note bad" role="status">
          <Icon name="failed" size={14} /> {text.t('after.all.problem', { problem })}
        </p>
      )}
    </section>
  );
}
