/** The engine's downloads, as the daemon and streaming want them. */

import type { DownloadRequest } from '@millrace/shared/download/request';
import { Download } from '../download.ts';
import { movePartial, removePartial } from '../left-partial.ts';
import type { DownloadFactory, RunContext } from './contract.ts';

export const engineDownload: DownloadFactory = Object.assign(
  (request: DownloadRequest, context: RunContext) => new Download(request, context),
  { movePartial, removePartial },
);
