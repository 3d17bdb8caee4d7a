/** The choice of a proxy for one download. */

import { Field, Select } from '@millrace/shared/ui/fields';
import { isBadProxy, type ProxyPick } from '../../model/adding/proxy-pick.ts';
import { useText } from './context.tsx';

interface ProxyFieldProps {
  /** Words for `default`. */
  readonly unchanged: string;
  readonly note: string;
  readonly value: ProxyPick;
  readonly onChange: (value: ProxyPick) => void;
}

export function ProxyField({ unchanged, note, value, onChange }: ProxyFieldProps) {
  const text = useText();
  return (
    <>
      <Select
        label={text.t('settings.proxy')}
        note={note}
        value={value.kind}
        options={[
          { value: 'default', label: unchanged },
          { value: 'system', label: text.t('proxy.auto') },
          { value: 'direct', label: text.t('proxy.direct') },
          { value: 'own', label: text.t('proxy.own') },
        ]}
        onChange={(kind) => onChange({ ...value, kind })}
      />
      {value.kind === 'own' && (
        <ProxyAddress value={value} onChange={(url) => onChange({ ...value, url })} />
      )}
    </>
  );
}

interface ProxyAddressProps {
  readonly value: ProxyPick;
  readonly onChange: (url: string) => void;
}

/** The address of a proxy, perhaps with a log-in. */
export function ProxyAddress({ value, onChange }: ProxyAddressProps) {
  const text = useText();
  const bad = isBadProxy(value) && value.url.trim() !== '';
  return (
    <Field
      label={text.t('proxy.url')}
      value={value.url}
      placeholder={text.t('proxy.placeholder')}
      note={text.t('proxy.login')}
      problem={bad ? text.t('proxy.bad') : undefined}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
