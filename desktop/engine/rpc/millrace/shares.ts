/** Methods for sending files, and for the depots that store them. */

import { asMillraceError } from '@millrace/shared/base/errors';
import { SHARE_ROWS } from '@millrace/shared/bridge/contract/share-rows';
import { RpcError } from '@millrace/shared/bridge/rpc/json-rpc';
import type { DepotCheck, Invitation } from '@millrace/shared/bridge/rpc/share-api';
import { formatGuestLink } from '@millrace/shared/http/urls/guest-link';
import { findDepot, type KeptDepot, withDepot, withoutDepot } from '../../settings/kept-depots.ts';
import { edgeAddress } from '../../settings/kept-edges.ts';
import { chosenFile } from '../../shares/outgoing.ts';
import { problemOf } from '../../shares/share-view.ts';
import type { CallContext, Method } from '../calls/dispatcher.ts';
import { UNAUTHORIZED } from '../calls/rpc-error.ts';
import { type MillraceOptions, methodsOf } from './params.ts';

/** Longest wait for a depot's answer, in milliseconds. */
const CHECK_MS = 10_000;

export function shareMethods({ manager, shares, outgoing }: MillraceOptions): [string, Method][] {
  const keep = (depots: readonly KeptDepot[]) => {
    manager.settings.depots = depots;
    manager.settingsChanged();
    return { depots: depots.map(({ url, name }) => ({ url, name })) };
  };
  return methodsOf(SHARE_ROWS, {
    'millrace.setDepot': (p) => keep(withDepot(manager.settings.depots, p)),
    'millrace.removeDepot': (p) => keep(withoutDepot(manager.settings.depots, p.url)),
    'millrace.checkDepot': (p) => checkDepot(findDepot(manager.settings.depots, p.url)),
    'millrace.invite': async ({ url, ...space }) => {
      const depot = findDepot(manager.settings.depots, url);
      // A list that is full refuses before the depot reserves anything.
      shares.checkRoom();
      const made = await invite(depot, space);
      const expires = Date.parse(made.expires);
      try {
        shares.addInvitation({ ...space, ...made, depot: depot.url, expires });
      } catch (error) {
        await giveBack(made.manage);
        throw error;
      }
      return made;
    },
    'millrace.offerFile': (p, context) => {
      mustHaveToken(context);
      return outgoing.offer(p.path);
    },
    'millrace.stageFile': (p) => outgoing.stage(p.name, p.bytes),
    'millrace.dropFile': async (p) => {
      await outgoing.drop(p.file);
      return {};
    },
    'millrace.share': async ({ path, file, ...rest }, context) => {
      if (path !== undefined) mustHaveToken(context);
      // Checked first, so that a refusal does not cost the page its copy.
      for (const url of rest.depots ?? []) findDepot(manager.settings.depots, url);
      const chosen =
        path === undefined
          ? outgoing.claim(file as string)
          : await chosenFile(path, outgoing.state);
      return shares.add({ ...rest, file: chosen });
    },
    'millrace.shares': () => ({ shares: shares.list.all() }),
    'millrace.pauseShare': (p) => shares.pause(p.id),
    'millrace.resumeShare': (p) => shares.resume(p.id),
    'millrace.checkShare': (p) => shares.check(p.id),
    'millrace.repairShare': (p) => shares.repair(p.id),
    'millrace.stopRepair': (p) => shares.stopRepair(p.id),
    'millrace.extendShare': (p) => shares.extend(p.id, p.seconds),
    'millrace.revokeShare': (p) => shares.revoke(p.id),
    'millrace.undoRevoke': (p) => shares.undoRevoke(p.id),
    'millrace.forgetShare': (p) => {
      shares.forget(p.id);
      return {};
    },
  });
}

/** Paths are named only by holders of the token: a page's session must not read the user's files. */
function mustHaveToken({ token }: CallContext): void {
  if (token !== true) throw new RpcError(UNAUTHORIZED);
}

/** Reserves space for a guest. @throws as `allocate` */
async function invite(
  { url, token }: KeptDepot,
  { bytes, seconds }: { readonly bytes: number; readonly seconds: number },
): Promise<Invitation> {
  const { allocate } = await import('../../upload/depot-client.ts');
  const wanted = { bytes, seconds, guest: true } as const;
  const signal = AbortSignal.timeout(CHECK_MS);
  const made = await allocate(edgeAddress(url), token, wanted, signal);
  const { read: file, manage, expires } = made;
  return { link: formatGuestLink([made]), file, manage, expires };
}

/** Releases space that could not be kept in the list; a depot that is silent keeps it for its lease. */
async function giveBack(manage: string): Promise<void> {
  const { release } = await import('../../upload/depot-client.ts');
  await release(manage, AbortSignal.timeout(CHECK_MS)).catch(() => {});
}

async function checkDepot({ url, token }: KeptDepot): Promise<DepotCheck> {
  const { roomOf } = await import('../../upload/depot-client.ts');
  try {
    const room = await roomOf(edgeAddress(url), token, AbortSignal.timeout(CHECK_MS));
    const { owner, bytes: bytesLeft, each: eachBytes, seconds: maxSeconds } = room;
    return { url, ok: true, owner, bytesLeft, eachBytes, maxSeconds };
  } catch (error) {
    return { url, ok: false, problem: problemOf(asMillraceError(error)) };
  }
}
