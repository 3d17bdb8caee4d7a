/** Removing downloads, and the trash that they go to. */

import type { Shape } from '../results/named.ts';
import type { removalSummary, trashItem, trashPage } from '../results/trash-results.ts';

/** Consequences of a removal, for the question before it. */
export type RemovalSummary = Shape<typeof removalSummary>;
/** A removed download, as the trash shows it. */
export type TrashItem = Shape<typeof trashItem>;
export type TrashPage = Shape<typeof trashPage>;
