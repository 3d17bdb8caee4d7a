/** Methods for the devices that use the daemon from other machines. */

import { MillraceError } from '@millrace/shared/base/errors';
import { DEVICE_ROWS } from '@millrace/shared/bridge/contract/device-rows';
import type { Devices } from '@millrace/shared/bridge/results/device-results';
import type { Remote } from '../../remote/remote.ts';
import type { CallContext, Method } from '../calls/dispatcher.ts';
import { type MillraceOptions, methodsOf } from './params.ts';

const NONE: Devices = { url: null, devices: [] };

export function deviceMethods({ remote }: MillraceOptions): [string, Method][] {
  const list = ({ remote: access }: CallContext) => remote?.devices(access?.caller) ?? NONE;
  return methodsOf(DEVICE_ROWS, {
    'millrace.devices': (_, context) => list(context),
    'millrace.pairingCode': (_, context) => serving(remote).pairingCode(context.remote?.caller),
    'millrace.revokeDevice': (p, context) => {
      serving(remote).revoke(p.id);
      return list(context);
    },
  });
}

function serving(remote: Remote | undefined): Remote {
  if (remote !== undefined) return remote;
  throw new MillraceError('bad-option', 'this daemon serves no other machines (--host)');
}
