/** Methods for the devices that use the daemon from other machines. */

import * as z from 'zod';
import { devices, pairingCode } from '../results/device-results.ts';
import { nothing } from './params.ts';
import type { Rows } from './row.ts';

export const DEVICE_ROWS = {
  'millrace.devices': {
    summary: 'Lists browsers that have logged in from other machines, and paired devices.',
    params: nothing,
    result: devices,
  },
  'millrace.pairingCode': {
    summary: 'Makes a code that pairs one device, for a few minutes.',
    params: nothing,
    result: pairingCode,
  },
  'millrace.revokeDevice': {
    summary: 'Logs a browser out, or ends a device’s access, at once.',
    params: z.strictObject({ id: z.string().max(64) }),
    result: devices,
  },
} as const satisfies Rows;
