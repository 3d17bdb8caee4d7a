/** A daemon with downloads as people have them: running, done, failed, over edges and mirrors. */

import { SlowFiles } from '../fixtures/origins/slow-files.ts';
import { PAGE } from '../fixtures/pages/ui.ts';
import { DaemonProcess } from '../fixtures/programs/daemon.ts';
import { EdgeProcess, temporaryFolder } from '../fixtures/programs/processes.ts';
import { until } from '../fixtures/until.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

const DONE = [
  ['ubuntu-24.04.3-desktop-amd64.iso', 61 * MIB],
  ['postgresql-17.2.tar.bz2', 21 * MIB],
  ['blender-4.3.2-linux-x64.tar.xz', 34 * MIB],
  ['lecture-07-consistent-hashing.mp4', 18 * MIB],
  ['libreoffice-24.8-manual.pdf', 3 * MIB],
  ['symphony-no-9-live.flac', 14 * MIB],
] as const;

const RUNNING = [
  ['fedora-workstation-42-x86_64.iso', 2.3 * GIB, 1.6 * MIB],
  ['planet-osm-europe-latest.tar.zst', 3.9 * GIB, 0.5 * MIB],
  ['qwen-0.5b-instruct-weights.bin', 0.9 * GIB, 0.35 * MIB],
] as const;

const QUEUED = [
  ['archlinux-2026.11.01-x86_64.iso', 1.1 * GIB],
  ['arte-documentary-rivers.mkv', 1.9 * GIB],
  ['proxmox-ve_9.1.iso', 1.3 * GIB],
] as const;

export class Scene {
  readonly #folder: Awaited<ReturnType<typeof temporaryFolder>>;
  readonly #origin: SlowFiles;
  readonly #mirror: SlowFiles;
  readonly #edges: readonly EdgeProcess[];
  daemon: DaemonProcess;
  readonly main = RUNNING[0][0];
  readonly expired = 'game-assets-season-3.zip';

  private constructor(
    folder: Awaited<ReturnType<typeof temporaryFolder>>,
    origin: SlowFiles,
    mirror: SlowFiles,
    edges: readonly EdgeProcess[],
    daemon: DaemonProcess,
  ) {
    this.#folder = folder;
    this.#origin = origin;
    this.#mirror = mirror;
    this.#edges = edges;
    this.daemon = daemon;
  }

  static async set(): Promise<Scene> {
    const folder = await temporaryFolder();
    const origin = await SlowFiles.start(60 * MIB);
    const mirror = await SlowFiles.start(0.7 * MIB);
    const allow = ['--allow-origin', '127.0.0.1', '--log-level', 'silent'];
    const first = await EdgeProcess.start([...allow, '--name', 'paris']);
    const second = await EdgeProcess.start([...allow, '--name', 'oslo']);
    const daemon = await DaemonProcess.start(folder.path, ['--page', PAGE]);
    return new Scene(folder, origin, mirror, [first, second], daemon);
  }

  get pasted(): string {
    const at = `http://127.0.0.1:${this.#origin.port}`;
    return [
      'Here are the images for the lab:',
      `  ${at}/debian/debian-13.2.0-amd64-netinst.iso`,
      `  ${at}/alpine/alpine-standard-3.22.2-x86_64.iso (small one)`,
      `and again ${at}/done/postgresql-17.2.tar.bz2`,
    ].join('\n');
  }

  async fill(): Promise<void> {
    const { daemon } = this;
    const add = (urls: readonly string[], more: object = {}) =>
      daemon.add({ urls, useEdges: false, ...more });
    for (const [i, edge] of this.#edges.entries()) {
      const name = ['paris', 'oslo'][i];
      await daemon.call('millrace.addEdge', { url: edge.url, name });
    }
    await daemon.call('millrace.setSettings', {
      limits: { concurrent: 4 },
      windows: [
        { days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '08:00', to: '12:30', limit: 2 * MIB },
        { days: ['fri', 'sat'], from: '22:00', to: '06:00', pause: true },
      ],
    });
    for (const [name, bytes] of DONE) {
      const gid = await add([this.#origin.add(`/done/${name}`, { bytes })]);
      await daemon.reaches(gid, 'complete');
    }
    const gone = this.#origin.add(`/signed/${this.expired}`, { bytes: 1, status: 403 });
    await daemon.reaches(await add([gone]), 'error');
    const digests = [{ algorithm: 'sha256', hex: 'ab'.repeat(32) }];
    const wrong = this.#origin.add('/openwrt-24.10-x86-64.img.gz', { bytes: 2 * MIB });
    await daemon.reaches(await add([wrong], { digests }), 'error');
    for (const [name, bytes, rate] of RUNNING) {
      const path = `/iso/${name}`;
      const file = { bytes: Math.floor(bytes), seed: name, rate };
      const urls = [this.#origin.add(path, file)];
      const main = name === this.main;
      if (main) urls.push(this.#mirror.add(path, { ...file, rate: 0.9 * MIB }));
      await add(urls, main ? { useEdges: true } : {});
    }
    const waits = this.#origin.add('/nightly/firefox-nightly.tar.xz', { bytes: 1, status: 503 });
    const busy = await add([waits]);
    for (const [name, bytes] of QUEUED) {
      await add([this.#origin.add(`/more/${name}`, { bytes: Math.floor(bytes), rate: MIB })]);
    }
    const held = this.#origin.add('/more/openstreetmap-tiles.mbtiles', { bytes: GIB });
    await add([held], { paused: true });
    await until(async () => (await daemon.status(busy)).status !== 'queued');
  }

  async restart(): Promise<void> {
    const port = String(this.daemon.port);
    this.daemon = await DaemonProcess.start(this.#folder.path, ['--page', PAGE, '--port', port]);
  }

  async clear(): Promise<void> {
    await this.daemon.stop();
    for (const edge of this.#edges) await edge.stop();
    await this.#origin.stop();
    await this.#mirror.stop();
    await this.#folder.remove();
  }
}
