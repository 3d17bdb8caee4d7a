/** Fields for the actions after a download. */

import type { AfterChoice, AfterSettings } from '@millrace/shared/bridge/rpc/settings-api';
import { Field, Select, Switch } from '@millrace/shared/ui/fields';
import { useEffect, useState } from 'react';
import { useApp, useText } from './context.tsx';

/** Reads what happens after downloads; undefined while it is not known, and on other machines. */
export function useAfterSettings(): readonly [
  AfterSettings | undefined | 'refused',
  (now: AfterSettings) => void,
] {
  const app = useApp();
  const [settings, setSettings] = useState<AfterSettings | undefined | 'refused'>(undefined);
  useEffect(() => {
    app.call('millrace.getAfter', {}).then(setSettings, () => setSettings('refused'));
  }, [app]);
  return [settings, setSettings];
}

interface AfterFieldsProps {
  readonly value: AfterChoice;
  /** Names that can be chosen. */
  readonly commands: readonly string[];
  /** False: there is no webhook to tell. */
  readonly hasWebhook: boolean;
  readonly onChange: (value: AfterChoice) => void;
}

export function AfterFields({ value, commands, hasWebhook, onChange }: AfterFieldsProps) {
  const text = useText();
  const set = (change: AfterChoice) => {
    const all = Object.entries({ ...value, ...change });
    onChange(Object.fromEntries(all.filter(([, given]) => given !== '' && given !== false)));
  };
  return (
    <>
      <Field
        label={text.t('after.move')}
        value={value.move ?? ''}
        placeholder={text.t('after.move.placeholder')}
        note={text.t('after.move.help')}
        spellCheck={false}
        onChange={(event) => set({ move: event.target.value })}
      />
      <Switch
        label={text.t('after.extract')}
        note={text.t('after.extract.help')}
        checked={value.extract === true}
        onChange={(extract) => set({ extract })}
      />
      {commands.length > 0 && (
        <Select
          label={text.t('after.run')}
          note={text.t('after.run.help')}
          options={[
            { value: '', label: text.t('after.run.none') },
            ...commands.map((name) => ({ value: name, label: name })),
          ]}
          value={value.run ?? ''}
          onChange={(run) => set({ run })}
        />
      )}
      <Switch
        label={text.t('after.open')}
        note={text.t('after.open.help')}
        checked={value.open === true}
        onChange={(open) => set({ open })}
      />
      {hasWebhook && (
        <Switch
          label={text.t('after.webhook')}
          note={text.t('after.webhook.note')}
          checked={value.webhook === true}
          onChange={(webhook) => set({ webhook })}
        />
      )}
    </>
  );
}
