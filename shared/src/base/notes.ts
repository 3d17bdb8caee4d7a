/**
 * The table of notes: events of a download that users should know beside its state, by code and in
 * English.
 */

import { fill } from './error-table/fill.ts';

export const NOTES = {
  'edges-left-out': 'edges do not carry header fields: downloading directly',
  'edges-not-asked': 'edges are not used, because the file may not be public: {why}',
  'house-not-asked': 'edges in this house are not asked for the file: {why}',
  'house-was-wrong': 'what came from an edge in this house may be wrong: fetching it again',
  'source-left-out': '{source} is no longer used: {why}',
  'first-left-out': '{source} sent nothing: relying on the other sources',
  'first-contradicts': '{source} contradicts itself: relying on the other sources',
  'wrong-file': 'the data received is not the file: trying the other sources',
  'one-piece': 'no source is left that serves ranges: downloading in one piece',
  'whole-to-compare':
    'the parts that came do not match the checksum: asking once for the whole file, in case the parts were wrong',
  'whole-answer': 'the parts that the source sends cannot be used: asking for the whole file',
  'ranges-refused': '{source} refuses requests for parts ({why}): it sends the whole file',
  'first-answer': '{source} serves no other request ({why}): reading its first answer to the end',
  'next-in-one-piece': '{source} did not send the file: asking the next source',
  'cannot-resume': 'the source sends the file in one piece: it cannot be resumed',
  'new-version': 'the file has changed at the source: starting again with the new version',
  'partial-changed': 'another program has changed the partial file: keeping what is still right',
  'partial-of-other': 'an earlier partial file was of another version and could not be used',
  'pieces-again': 'Pieces that do not match their checksum are fetched again: {n}',
  'not-all-checked': '{bytes} of the file are not checked: no checksum of them alone is known',
  'shared-right': '{bytes} that share pieces with other files match the checksums of these pieces',
  'shared-wrong':
    'a piece that it shares with other files does not match its checksum: fetching {bytes} again',
  'shared-unchecked':
    '{bytes} share a piece with a file that is not downloaded or has changed: they are not checked',
  'shared-waits':
    '{bytes} share pieces with files that are not complete yet: they are checked once these are',
  'shared-acted': 'actions that were carried out after the download are not repeated',
  'shared-contradicts':
    'the checksum of a piece that it shares with other files contradicts that of the file itself, which counts',
  followed: 'it describes files, which are added: {n}',
  'described-by': '{name} describes it',
  'not-followed': 'it is kept as it is, and not followed to files that it describes: {why}',
  'digest-from': 'the digest is taken from {url}',
  'signed-by': 'signed by {by}: key {fingerprint}',
  'no-signature': 'nobody vouches for the file: no signature was found',
  'signature-unknown-key': 'nobody vouches for the file: no known key made its signature',
  'signature-key-not-valid':
    'nobody vouches for the file: the key of its signature was expired or revoked',
  'signature-weak': 'nobody vouches for the file: its signature uses an outdated algorithm',
  'signature-unreadable': 'nobody vouches for the file: its signature cannot be read',
  'signature-unlisted': 'nobody vouches for the file: the signed list does not name it',
  'taken-from-older': '{bytes} are taken from {file}, as {url} says',
  'older-not-used': 'nothing is taken from {file}: {why}',
  repairs: 'repairing {file}: it stays as it is until the new one is right',
  'older-was-wrong': 'what was taken from {file} may be wrong: fetching it again',
  'list-was-stale': 'the list of blocks {url} is about another version: its checksum is left aside',
  'waits-for-room': '{why}: waiting until there is room',
  'waits-for-server': '{why}: trying again',
  'name-taken': 'the name is taken: saving as {name}',
  'login-left-out': 'log-in and cookies are for {before}: they are not sent to {now}',
  'link-renewed': 'continues with a new link, at {host}',
  resolved: 'the links are those that the resolver {name} has found',
  'resolves-again': 'the link has expired: asking the resolver {name} for a new one',
  'link-apart':
    'this is not shown to be the same file as the earlier {name} ({why}): downloading it anew',
  'option-without-effect': '{names} is not supported, and has no effect',
  failed: '{why}',
  /** A message of a part of the system. */
  system: '{text}',
} as const;

export type NoteCode = keyof typeof NOTES;

/** Values for the text. `why` is an error's message; `code` its code, for other languages. */
export type NoteValues = Readonly<Record<string, string | number>>;

export interface Note {
  /** In English. */
  readonly text: string;
  readonly note: NoteCode;
  readonly values: NoteValues;
}

export function noteOf(note: NoteCode, values: NoteValues = {}): Note {
  return { text: fill(NOTES[note], values), note, values };
}

/** Makes a note that gives an error as the reason. */
export function noteOfError(
  note: NoteCode,
  error: { readonly code: string; readonly message: string },
  values: NoteValues = {},
): Note {
  return noteOf(note, { ...values, why: error.message, code: error.code });
}
