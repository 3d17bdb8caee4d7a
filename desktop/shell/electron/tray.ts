/** The tray: an icon with progress, one line of text, a short menu. */

import { Menu, type MenuItemConstructorOptions, nativeImage, Tray } from 'electron';
import { type Bitmap, trayStep, withProgress } from '../logic/tray-image.ts';

export class TrayIcon {
  readonly #tray: Tray | undefined;
  readonly #picture: Bitmap;
  #step = -1;
  #text = '';

  /** Makes the icon; without a tray on this desktop, nothing is shown. @param icon PNG file */
  constructor(icon: string, onClick: () => void) {
    const image = nativeImage.createFromPath(icon);
    this.#picture = { ...image.getSize(), pixels: image.toBitmap() };
    try {
      this.#tray = new Tray(image);
      this.#tray.on('click', onClick);
    } catch (error) {
      process.stderr.write(`There is no tray here: ${error}\n`);
    }
  }

  show(text: string, share: number | undefined): void {
    if (text !== this.#text) {
      this.#text = text;
      this.#tray?.setToolTip(`Millrace\n${text}`);
    }
    const step = trayStep(share, this.#picture.width);
    if (step === this.#step) return;
    this.#step = step;
    const { width, height, pixels } = withProgress(this.#picture, share);
    this.#tray?.setImage(nativeImage.createFromBitmap(Buffer.from(pixels), { width, height }));
  }

  setMenu(template: MenuItemConstructorOptions[]): void {
    this.#tray?.setContextMenu(Menu.buildFromTemplate(template));
  }
}
