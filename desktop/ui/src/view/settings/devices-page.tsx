/** The page of the devices that use the daemon from other machines. */

import type {
  Devices,
  DeviceView,
  PairingCode,
} from '@millrace/shared/bridge/results/device-results';
import { useEffect, useState } from 'react';
import { clock, when } from '../../text/format.ts';
import { useApp, useText } from '../common/context.tsx';
import { useNow } from '../common/now.ts';

/** Interval at which the list is read again while the page is open, ms. */
const REREAD_MS = 3000;

export function DevicesPage() {
  const text = useText();
  const app = useApp();
  const [devices, setDevices] = useState<Devices | undefined>(undefined);
  const [code, setCode] = useState<PairingCode | undefined>(undefined);
  const now = useNow(REREAD_MS);
  useEffect(() => {
    const read = () => app.call('millrace.devices', {}).then(setDevices, () => undefined);
    void read();
    const timer = setInterval(read, REREAD_MS);
    return () => clearInterval(timer);
  }, [app]);
  if (devices === undefined) return <p className="note">{text.t('settings.loading')}</p>;
  if (devices.url === null) return <p className="quiet">{text.t('devices.off')}</p>;
  const pair = async () => setCode(await app.attempt(app.call('millrace.pairingCode', {})));
  return (
    <>
      <p className="quiet">{text.t('devices.text')}</p>
      <div>
        <button type="button" className="button primary" onClick={() => void pair()}>
          {text.t('devices.pair')}
        </button>
      </div>
      {code !== undefined && code.endsAt > now && (
        <div className="pairing" role="status">
          <p className="quiet">{text.t('devices.code', { url: code.url })}</p>
          <strong className="pairing-code">{code.code}</strong>
          <p className="note">{text.t('devices.codeNote', { time: clock(text, code.endsAt) })}</p>
        </div>
      )}
      {devices.devices.length === 0 ? (
        <p className="note">{text.t('devices.none')}</p>
      ) : (
        <ul className="edges devices">
          {devices.devices.map((device) => (
            <Device key={device.id} device={device} now={now} onDevices={setDevices} />
          ))}
        </ul>
      )}
    </>
  );
}

interface DeviceProps {
  readonly device: DeviceView;
  readonly now: number;
  readonly onDevices: (devices: Devices) => void;
}

function Device({ device, now, onDevices }: DeviceProps) {
  const text = useText();
  const app = useApp();
  const { id, kind, name, account, address, usedAt, you } = device;
  const revoke = async () => {
    const left = await app.attempt(app.call('millrace.revokeDevice', { id }));
    if (left === undefined) return;
    onDevices(left);
    app.toast(text.t('devices.revoked', { name }));
  };
  const owner =
    account === undefined ? text.t('devices.local') : text.t('devices.account', { name: account });
  const used = text.t('devices.used', { when: when(text, usedAt, now), address });
  return (
    <li>
      <div className="edge-name">
        <strong className="cut">{you ? `${name} · ${text.t('devices.you')}` : name}</strong>
        <span className="note cut">{`${owner} · ${used}`}</span>
      </div>
      <button
        type="button"
        className="button small"
        aria-label={`${text.t(kind === 'browser' ? 'devices.logOut' : 'devices.revoke')}: ${name}`}
        onClick={() => void revoke()}
      >
        {text.t(kind === 'browser' ? 'devices.logOut' : 'devices.revoke')}
      </button>
    </li>
  );
}
