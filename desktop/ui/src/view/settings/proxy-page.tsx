import { Choice, Field } from '@millrace/shared/ui/fields';
import { useState } from 'react';
import { useText } from '../common/context.tsx';
import type { PageProps } from './page-props.ts';
import { SaveButton } from './save-button.tsx';

type Kind = 'auto' | 'direct' | 'own';

const PROXY = /^(?:https?|socks5h?):\/\/[^\s/]+/i;

function kindOf(proxy: string | null): Kind {
  return proxy === null ? 'auto' : proxy === 'direct' ? 'direct' : 'own';
}

export function ProxyPage({ settings, save }: PageProps) {
  const text = useText();
  const { proxy } = settings;
  const [kind, setKind] = useState(kindOf(proxy));
  const [url, setUrl] = useState(kindOf(proxy) === 'own' ? (proxy ?? '') : '');
  const wanted = kind === 'auto' ? null : kind === 'direct' ? 'direct' : url.trim();
  const bad = kind === 'own' && !PROXY.test(url.trim());
  return (
    <>
      <p className="quiet">{text.t('proxy.text')}</p>
      <Choice
        label={text.t('settings.proxy')}
        options={[
          { value: 'auto', label: text.t('proxy.auto') },
          { value: 'direct', label: text.t('proxy.direct') },
          { value: 'own', label: text.t('proxy.own') },
        ]}
        value={kind}
        onChange={setKind}
      />
      {kind === 'auto' && <p className="note">{text.t('proxy.auto.help')}</p>}
      {kind === 'own' && (
        <Field
          label={text.t('proxy.url')}
          value={url}
          placeholder={text.t('proxy.placeholder')}
          problem={bad && url.trim() !== '' ? text.t('proxy.bad') : undefined}
          onChange={(event) => setUrl(event.target.value)}
        />
      )}
      <SaveButton disabled={bad || wanted === proxy} save={() => save({ proxy: wanted })} />
    </>
  );
}
