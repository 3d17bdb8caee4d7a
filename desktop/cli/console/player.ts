/** A media player as a process. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  fillPlaces,
  needsPlaylist,
  placesOf,
  playlistOf,
} from '@millrace/shared/download/request/player-command';
import { UsageError } from '../text/option-values.ts';

export interface Player {
  /** Resolves when the player has ended; rejects with UsageError if it cannot be started. */
  readonly ended: Promise<void>;
  /** Ends the player and deletes its playlist. */
  close(): Promise<void>;
}

/**
 * Starts a player, which gets the terminal. Only this user can read a playlist for the player.
 *
 * @param command program and arguments
 * @param url URL of the stream; also in the player's environment, which other users cannot read
 */
export async function startPlayer(command: readonly string[], url: string): Promise<Player> {
  const [program = ''] = command;
  const places = placesOf(command);
  const playlist = needsPlaylist(places) ? await writePlaylist(url) : undefined;
  const child = spawn(program, fillPlaces(places, url, playlist?.path), {
    stdio: 'inherit',
    env: { ...process.env, MILLRACE_STREAM_URL: url },
  });
  const ended = once(child, 'exit').then(
    () => {},
    (cause: NodeJS.ErrnoException) => {
      throw new UsageError(`${program} cannot be started (${cause.code})`, { cause });
    },
  );
  return {
    ended,
    async close() {
      child.kill('SIGTERM');
      await playlist?.remove();
    },
  };
}

async function writePlaylist(url: string) {
  // Players in snaps see neither the temporary folder nor hidden folders.
  const parent = existsSync('/snap/bin') ? homedir() : tmpdir();
  // mkdtemp makes a folder that only its user can enter (mode 0700).
  const folder = await mkdtemp(join(parent, 'millrace-player-'));
  const path = join(folder, 'stream.m3u');
  await writeFile(path, playlistOf(url), { mode: 0o600 });
  return { path, remove: () => rm(folder, { recursive: true, force: true }) };
}
