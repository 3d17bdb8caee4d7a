/** Makes the manifests of all places that take descriptions of a release, and not its files. */

import { flatpakManifests } from './flatpak.ts';
import { homebrewTap } from './homebrew.ts';
import type { Manifests, Released } from './package-facts.ts';
import { wingetManifests } from './winget.ts';

/** Manifests for one place. */
export interface Place {
  /** Folder for them. */
  readonly folder: string;
  /** The place to hand the folder in at, for people. */
  readonly handIn: string;
  /** Files that the place needs; the release has none of them if there are no manifests. */
  readonly needs: string;
  readonly manifests: Manifests | undefined;
}

/**
 * Returns the manifests of each place.
 *
 * @param menuEntry text of the menu entry of the Linux packages
 * @param day today, for a version that has no day yet
 */
export function placesOf(released: Released, menuEntry: string, day: string): Place[] {
  return [
    {
      folder: 'flatpak',
      handIn: 'the repository of the app at github.com/flathub',
      needs: 'a deb of the app with its window',
      manifests: flatpakManifests(released, menuEntry, day),
    },
    {
      folder: 'winget',
      handIn: 'a pull request at github.com/microsoft/winget-pkgs',
      needs: 'an installer for Windows',
      manifests: wingetManifests(released),
    },
    {
      folder: 'homebrew',
      handIn: 'the root of a repository named homebrew-tap',
      needs: 'a disk image for macOS or the npm package',
      manifests: homebrewTap(released),
    },
  ];
}
