/** A daemon with realistic downloads: running, done, failed, over edges and mirrors. */

import { mkdir } from 'node:fs/promises';
import { type SlowFile, SlowFiles } from '../fixtures/origins/slow-files.ts';
import { PAGE } from '../fixtures/pages/ui.ts';
import { DaemonProcess } from '../fixtures/programs/daemon.ts';
import { EdgeProcess } from '../fixtures/programs/processes.ts';
import { until } from '../fixtures/until.ts';
import type { Names } from './names.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** The user's folders, in a `/home` that only the pictures have. */
const HOME = '/home/ada';
const DOWNLOADS = `${HOME}/Downloads`;
const OPTIONS = ['--page', PAGE, '--dir', DOWNLOADS];

/** Hosts in the pictures; all of them lead to this machine. */
const MIRROR = 'mirrors.kernel.org';
const EDGES = ['paris', 'oslo'] as const;
const edgeHost = (name: string) => `${name}.edges.example.org`;

const DONE = [
  ['https://releases.ubuntu.com/24.04/ubuntu-24.04.3-desktop-amd64.iso', 61 * MIB],
  ['https://ftp.postgresql.org/pub/source/v17.2/postgresql-17.2.tar.bz2', 21 * MIB],
  ['https://download.blender.org/release/Blender4.3/blender-4.3.2-linux-x64.tar.xz', 34 * MIB],
  ['https://lectures.example.edu/cs/lecture-07-consistent-hashing.mp4', 18 * MIB],
  ['https://documentation.libreoffice.org/libreoffice-24.8-manual.pdf', 3 * MIB],
  ['https://archive.org/download/symphony-no-9-live.flac', 14 * MIB],
] as const;

const MAIN =
  'https://download.fedoraproject.org/pub/fedora/linux/releases/42/fedora-workstation-42-x86_64.iso';
const RUNNING = [
  [MAIN, 2.3 * GIB, 0.5 * MIB],
  ['https://planet.openstreetmap.org/planet-osm-europe-latest.tar.zst', 3.9 * GIB, 0.3 * MIB],
  ['https://huggingface.co/qwen/qwen-0.5b-instruct-weights.bin', 0.9 * GIB, 0.2 * MIB],
] as const;

const QUEUED = [
  ['https://geo.mirror.pkgbuild.com/iso/latest/archlinux-2026.11.01-x86_64.iso', 1.1 * GIB],
  ['https://media.example.tv/arte-documentary-rivers.mkv', 1.9 * GIB],
  ['https://enterprise.proxmox.com/iso/proxmox-ve_9.1.iso', 1.3 * GIB],
] as const;

const EXPIRED = 'https://cdn.example.games/signed/game-assets-season-3.zip';
const WRONG = 'https://downloads.openwrt.org/releases/24.10/openwrt-24.10-x86-64.img.gz';
const BUSY = 'https://archive.mozilla.org/nightly/firefox-nightly.tar.xz';
const HELD = 'https://tiles.example.org/openstreetmap-tiles.mbtiles';
const PASTED = [
  'https://cdimage.debian.org/debian-cd/13.2.0/amd64/iso-cd/debian-13.2.0-amd64-netinst.iso',
  'https://dl-cdn.alpinelinux.org/alpine/v3.22/releases/x86_64/alpine-standard-3.22.2-x86_64.iso',
] as const;

const FILES = [...DONE, ...RUNNING, ...QUEUED].map(([url]) => url as string);
const ORIGINS = [...FILES, EXPIRED, WRONG, BUSY, HELD, ...PASTED].map(
  (url) => new URL(url).hostname,
);

/** All host names that the scene needs. */
export const HOSTS = [...new Set([...ORIGINS, MIRROR, ...EDGES.map(edgeHost)])];

const fileName = (url: string) => url.slice(url.lastIndexOf('/') + 1);

export class Scene {
  readonly #origin: SlowFiles;
  readonly #mirror: SlowFiles;
  readonly #edges: readonly EdgeProcess[];
  daemon: DaemonProcess;
  readonly main = fileName(MAIN);
  readonly expired = fileName(EXPIRED);

  private constructor(
    origin: SlowFiles,
    mirror: SlowFiles,
    edges: readonly EdgeProcess[],
    daemon: DaemonProcess,
  ) {
    this.#origin = origin;
    this.#mirror = mirror;
    this.#edges = edges;
    this.daemon = daemon;
  }

  static async set(names: Names): Promise<Scene> {
    await mkdir(DOWNLOADS, { recursive: true });
    const origin = await SlowFiles.start(60 * MIB);
    const mirror = await SlowFiles.start(0.3 * MIB);
    for (const host of ORIGINS) names.lead(host, origin.port);
    names.lead(MIRROR, mirror.port);
    const allow = [new URL(MAIN).hostname, MIRROR].flatMap((host) => ['--allow-origin', host]);
    const edges: EdgeProcess[] = [];
    for (const name of EDGES) {
      const edge = await EdgeProcess.start([...allow, '--log-level', 'silent', '--name', name]);
      names.lead(edgeHost(name), Number(new URL(edge.url).port));
      edges.push(edge);
    }
    const daemon = await DaemonProcess.start(HOME, OPTIONS);
    return new Scene(origin, mirror, edges, daemon);
  }

  get pasted(): string {
    const [debian, alpine] = PASTED;
    return [
      'Here are the images for the lab:',
      `  ${debian}`,
      `  ${alpine} (small one)`,
      `and again ${DONE[1][0]}`,
    ].join('\n');
  }

  /** Serves a file at the path of its URL. @returns the URL */
  #put(url: string, file: SlowFile): string {
    this.#origin.add(new URL(url).pathname, file);
    return url;
  }

  /** Plans the week for a picture, and then no longer: at some hours nothing would be downloaded. */
  async whilePlanned(take: () => Promise<void>): Promise<void> {
    const windows = [
      { days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '08:00', to: '12:30', limit: 2 * MIB },
      { days: ['fri', 'sat'], from: '22:00', to: '06:00', pause: true },
    ];
    await this.daemon.call('millrace.setSettings', { windows });
    await take();
    await this.daemon.call('millrace.setSettings', { windows: [] });
  }

  async fill(): Promise<void> {
    const { daemon } = this;
    const add = (urls: readonly string[], more: object = {}) =>
      daemon.add({ urls, useEdges: false, ...more });
    for (const name of EDGES) {
      await daemon.call('millrace.addEdge', { url: `https://${edgeHost(name)}`, name });
    }
    await daemon.call('millrace.setSettings', { limits: { concurrent: 4 } });
    for (const [url, bytes] of DONE) {
      const gid = await add([this.#put(url, { bytes })]);
      await daemon.reaches(gid, 'complete');
    }
    const gone = this.#put(EXPIRED, { bytes: 1, status: 403 });
    await daemon.reaches(await add([gone]), 'error');
    const digests = [{ algorithm: 'sha256', hex: 'ab'.repeat(32) }];
    const wrong = this.#put(WRONG, { bytes: 2 * MIB });
    await daemon.reaches(await add([wrong], { digests }), 'error');
    for (const [url, bytes, rate] of RUNNING) {
      const file = { bytes: Math.floor(bytes), seed: fileName(url), rate };
      const urls = [this.#put(url, file)];
      const main = url === MAIN;
      if (main) {
        const path = `/fedora/${fileName(url)}`;
        this.#mirror.add(path, { ...file, rate: 0.3 * MIB });
        urls.push(`https://${MIRROR}${path}`);
      }
      await add(urls, main ? { useEdges: true } : {});
    }
    const busy = await add([this.#put(BUSY, { bytes: 1, status: 503 })]);
    for (const [url, bytes] of QUEUED) {
      await add([this.#put(url, { bytes: Math.floor(bytes), rate: MIB })]);
    }
    await add([this.#put(HELD, { bytes: GIB })], { paused: true });
    for (const url of PASTED) this.#put(url, { bytes: 700 * MIB });
    await until(async () => (await daemon.status(busy)).status !== 'queued');
  }

  async restart(): Promise<void> {
    const port = String(this.daemon.port);
    this.daemon = await DaemonProcess.start(HOME, [...OPTIONS, '--port', port]);
  }

  async clear(): Promise<void> {
    await this.daemon.stop();
    for (const edge of this.#edges) await edge.stop();
    await this.#origin.stop();
    await this.#mirror.stop();
  }
}
