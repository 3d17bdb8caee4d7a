/** Questions of the dialog for adding downloads, and the daemon's answers. */

import type { addRequest } from '../params/download-params.ts';
import type {
  addManyResult,
  delicatePart,
  duplicate,
  foundLink,
  importEntry,
  importPreview,
  linkOptions,
  metalinkFile,
  pageLink,
  pageLinks,
  parsedText,
  probedLink,
  textFault,
} from '../results/adding-results.ts';
import type { added, apart } from '../results/download-results.ts';
import type { Shape } from '../results/named.ts';
import type { DELICATE_KINDS } from '../results/values.ts';

export { isDescriptionType } from '../../download/request/document-name.ts';

export type AddRequest = Shape<typeof addRequest>;
export type AddedResult = Shape<typeof added>;
export type Apart = Shape<typeof apart>;
export type AddManyResult = Shape<typeof addManyResult>;
export type Duplicate = Shape<typeof duplicate>;
export type FoundLink = Shape<typeof foundLink>;
export type LinkOptions = Shape<typeof linkOptions>;
export type PageLink = Shape<typeof pageLink>;
export type PageLinks = Shape<typeof pageLinks>;
export type ProbedLink = Shape<typeof probedLink>;
export type TextFault = Shape<typeof textFault>;
export type ParsedText = Shape<typeof parsedText>;
export type MetalinkFile = Shape<typeof metalinkFile>;
export type DelicateKind = (typeof DELICATE_KINDS)[number];
export type DelicatePart = Shape<typeof delicatePart>;
export type ImportEntry = Shape<typeof importEntry>;
export type ImportPreview = Shape<typeof importPreview>;
