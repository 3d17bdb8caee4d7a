/** Facts about the project, as the manifests of app stores and package managers state them. */

import { SITE } from '../../../shared/src/base/web-pages.ts';

/** Identity of the app with its window, the same on all systems (`appId` of electron-builder). */
export const APP_ID = 'dev.millrace.app';
export const NAME = 'Millrace';
export const SUMMARY = 'Downloads large files fast, safely, and resumably';
export const DESCRIPTION = [
  'Millrace downloads large files over plain HTTP. It fetches several parts of a file at a time, from its server, from mirrors and through caches, and asks slow sources for less.',
  'A download continues where it stopped after a broken connection or a power cut. If the file changes on the server meanwhile, Millrace notices, and never mixes two versions. A checksum that you know is compared.',
] as const;
export const HOMEPAGE = SITE;
export const LICENSE = 'MIT';

/** A release with its files, as manifests point to them. */
export interface Released {
  readonly version: string;
  /** Day such as 2026-11-27; undefined: not released yet. */
  readonly date: string | undefined;
  /** Address of the folder with the files, with a slash at its end. */
  readonly base: string;
  /** SHA-256 of each file in hexadecimal digits, by name. */
  readonly digests: ReadonlyMap<string, string>;
}

/** A file of a release. */
export interface ReleasedFile {
  readonly name: string;
  readonly url: string;
  readonly sha256: string;
}

/** Finds the files whose names match, sorted by name. */
export function filesOf({ base, digests }: Released, pattern: RegExp): ReleasedFile[] {
  return [...digests]
    .filter(([name]) => pattern.test(name))
    .map(([name, sha256]) => ({ name, url: base + name, sha256 }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Manifests of one place: text by path below the folder of that place. */
export type Manifests = Readonly<Record<string, string>>;
