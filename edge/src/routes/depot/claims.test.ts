import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Log } from '@millrace/shared/base/log';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import type { Allocation } from '../../depot/allocation.ts';
import { Depot } from '../../depot/depot.ts';
import type { Owners } from '../../policy/depot-owners.ts';
import { checkClaim } from './claims.ts';
import type { DepotRequest } from './depot-request.ts';

const ALICE: Owner = {
  ...{ name: 'alice', proof: '00', bytes: Infinity, each: Infinity },
  ...{ forMs: Infinity, count: 20, rate: Infinity },
};
const [ONE, OTHER] = ['a'.repeat(32), 'b'.repeat(32)];

/** Asks for an upload. @returns the code of the refusal */
async function codeOf(depot: Depot, allocation: Allocation, method: string, claim?: string) {
  const disposition = { 'content-disposition': `attachment; filename="${claim?.[0]}.txt"` };
  const headers = { ...disposition, ...(claim === undefined ? {} : { 'upload-claim': claim }) };
  const request = { req: { method, headers }, options: { depot } };
  return checkClaim(request as unknown as DepotRequest, allocation).then(
    () => 'taken',
    (error) => error.code,
  );
}

test('the space of a guest belongs to the first who sends bytes, also after a restart', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-claims-'));
  const owners = { named: () => ALICE } as unknown as Owners;
  const log = new Proxy({} as Log, { get: () => () => {} });
  const open = () =>
    Depot.open({ dir, owners, log, quotaBytes: 1e6, maxLeaseMs: 1e9, wallClock: () => 1e12 });
  let depot = await open();
  try {
    const asked = { bytes: 10, forMs: 1e6, resumable: true };
    const own = (await depot.allocate(ALICE, asked)).allocation;
    expect(await codeOf(depot, own, 'PATCH')).toBe('taken');
    const { allocation } = await depot.allocate(ALICE, { ...asked, guest: true });
    expect(await codeOf(depot, allocation, 'HEAD')).toBe('taken');
    for (const claim of [undefined, 'short']) {
      expect(await codeOf(depot, allocation, 'PATCH', claim)).toBe('bad-request');
    }
    expect(await codeOf(depot, allocation, 'POST', ONE)).toBe('bad-request');
    // Both at once: the first is not on the disk yet when the other one comes.
    const both = [ONE, OTHER].map((claim) => codeOf(depot, allocation, 'PATCH', claim));
    expect(await Promise.all(both)).toEqual(['taken', 'upload-running']);
    await depot.close();
    depot = await open();
    const again = depot.get(allocation.head.id) as Allocation;
    expect(again.head.name).toBe('a.txt');
    for (const method of ['HEAD', 'PATCH']) {
      expect(await codeOf(depot, again, method, ONE)).toBe('taken');
      expect(await codeOf(depot, again, method, OTHER)).toBe('upload-running');
    }
    expect(await codeOf(depot, again, 'HEAD')).toBe('upload-running');
    expect(JSON.stringify(again.head)).not.toContain(ONE);
  } finally {
    await depot.close();
    await rm(dir, { recursive: true, force: true });
  }
});
