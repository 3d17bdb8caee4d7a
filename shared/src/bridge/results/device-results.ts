/** Devices that may use a daemon from other machines, as the daemon shows them. */

import * as z from 'zod';
import { named, type Shape, time } from './named.ts';

const deviceView = named(
  'DeviceView',
  'A browser that has logged in, or a paired device: whoever uses the daemon from elsewhere.',
  {
    id: z.string(),
    kind: z.enum(['browser', 'device']),
    name: z.string().describe('Such as “Firefox on Android”.'),
    account: z.string().optional().describe('Account that it belongs to; none: the daemon’s own.'),
    address: z.string().describe('Address that it was last used from.'),
    createdAt: time,
    usedAt: time.describe('Unix milliseconds, to the hour.'),
    you: z.boolean().describe('True for whoever asks.'),
  },
);

export const devices = named('Devices', 'All devices, and where the daemon serves them.', {
  url: z.string().nullable().describe('Address for other machines; null: none.'),
  devices: z.array(deviceView),
});

export const pairingCode = named('PairingCode', 'A code that pairs one device.', {
  code: z.string().describe('Such as `7KQ2-M9XD`. Works once.'),
  endsAt: time.describe('End of its validity, Unix milliseconds.'),
  url: z.string().describe('Address to use it at.'),
});

export type DeviceView = Shape<typeof deviceView>;
export type Devices = Shape<typeof devices>;
export type PairingCode = Shape<typeof pairingCode>;
