import type { SystemProxyView } from '@millrace/shared/bridge/rpc/settings-api';
import { Choice } from '@millrace/shared/ui/fields';
import { useEffect, useState } from 'react';
import { isBadProxy, type ProxyPick } from '../../model/adding/proxy-pick.ts';
import type { Text } from '../../text/text.ts';
import { useApp, useText } from '../common/context.tsx';
import { ProxyAddress } from '../common/proxy-field.tsx';
import type { PageProps } from './page-props.ts';
import { SaveButton } from './save-button.tsx';

type Kind = 'system' | 'direct' | 'own';

/** Time between looks at what the system says, while the page is open, in milliseconds. */
const LOOK_MS = 5000;

function kindOf(proxy: string | null): Kind {
  return proxy === null || proxy === 'system' ? 'system' : proxy === 'direct' ? 'direct' : 'own';
}

export function ProxyPage({ settings, save }: PageProps) {
  const text = useText();
  const { proxy } = settings;
  const [kind, setKind] = useState(kindOf(proxy));
  const [url, setUrl] = useState(kindOf(proxy) === 'own' ? (proxy ?? '') : '');
  const pick: ProxyPick = { kind, url };
  const wanted = kind === 'system' ? null : kind === 'direct' ? 'direct' : url.trim();
  const bad = isBadProxy(pick);
  return (
    <>
      <p className="quiet">{text.t('proxy.text')}</p>
      <Choice
        label={text.t('settings.proxy')}
        note={text.t(`proxy.${kind}.help`)}
        options={[
          { value: 'system', label: text.t('proxy.auto') },
          { value: 'direct', label: text.t('proxy.direct') },
          { value: 'own', label: text.t('proxy.own') },
        ]}
        value={kind}
        onChange={setKind}
      />
      {kind === 'system' && <SystemProxyNote />}
      {kind === 'own' && <ProxyAddress value={pick} onChange={setUrl} />}
      <SaveButton disabled={bad || wanted === proxy} save={() => save({ proxy: wanted })} />
    </>
  );
}

/** Says what the system's settings are at present. */
function SystemProxyNote() {
  const text = useText();
  const app = useApp();
  const [now, setNow] = useState<SystemProxyView | undefined>(undefined);
  useEffect(() => {
    const look = () => app.call('millrace.getSystemProxy', {}).then(setNow, () => undefined);
    void look();
    const timer = setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, [app]);
  return (
    <p className={now?.problem === undefined ? 'note' : 'note bad'} role="status">
      {now === undefined ? '' : systemProxyText(text, now)}
    </p>
  );
}

function systemProxyText(text: Text, now: SystemProxyView): string {
  const { way, servers, script = '', problem } = now;
  const source = text.t(`proxy.source.${now.source}`);
  if (problem !== undefined)
    return text.t(way === 'direct' ? 'proxy.now.problem' : 'proxy.now.refused', {
      source,
      problem,
    });
  if (way === 'script') return text.t('proxy.now.script', { source, script });
  if (way === 'discovery') return text.t('proxy.now.discovery', { source });
  if (servers.length === 0) return text.t('proxy.now.none', { source });
  return text.t('proxy.now.servers', { source, servers: servers.join(', ') });
}
