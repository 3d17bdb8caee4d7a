/** Settings that the daemon keeps for its user. */

import type { TrashLimits } from '../../download/queue/trash.ts';
import type {
  afterChoice,
  afterCommand,
  afterSettings,
  afterStep,
} from '../results/after-results.ts';
import type { Shape } from '../results/named.ts';
import type {
  appearance,
  appSettings,
  categoryView,
  downloadDefaults,
  keyList,
  learnedHost,
  learnedLimits,
  limitsView,
  resolvers,
  resolverTest,
  schedule,
  scheduleNow,
  systemProxy,
  windowView,
} from '../results/settings-results.ts';

export { DEFAULT_SECONDS, PLACES } from '../../download/after/command.ts';
export { WHEN_DONE } from '../../download/after/when-done.ts';
export { MAX_TRASH_DAYS } from '../../download/queue/trash.ts';
export { MAX_RESOLVER_SECONDS, RESOLVER_SECONDS } from '../../download/resolve/resolved.ts';
export { DENSITIES, THEMES, WEEKDAYS } from '../results/values.ts';

/** Most downloads at a time. */
export const MAX_CONCURRENT = 100;

export type CategoryView = Shape<typeof categoryView>;
export type WindowView = Shape<typeof windowView>;
type LimitsView = Shape<typeof limitsView>;
export type Appearance = Shape<typeof appearance>;
/** Options of downloads that are added from now on, unless they say otherwise. */
export type DownloadDefaults = Shape<typeof downloadDefaults>;
export type AppSettings = Shape<typeof appSettings>;
export type LearnedHost = Shape<typeof learnedHost>;
export type LearnedLimits = Shape<typeof learnedLimits>;
export type AfterChoice = Shape<typeof afterChoice>;
export type AfterCommand = Shape<typeof afterCommand>;
export type AfterStep = Shape<typeof afterStep>;
export type AfterSettings = Shape<typeof afterSettings>;
export type Resolvers = Shape<typeof resolvers>;
export type Resolver = Resolvers['resolvers'][number];
export type ResolverTest = Shape<typeof resolverTest>;
export type KeyList = Shape<typeof keyList>;
/** The schedule's present effect. */
export type ScheduleNow = Shape<typeof scheduleNow>;
export type ScheduleView = Shape<typeof schedule>;
export type SystemProxyView = Shape<typeof systemProxy>;

/** Changes to settings: omitted members stay; lists are replaced as a whole. */
export interface SettingsChange {
  /** null: the folder that the daemon was started with. */
  readonly dir?: string | null;
  readonly categories?: readonly CategoryView[];
  readonly limits?: Partial<LimitsView>;
  readonly windows?: readonly WindowView[];
  readonly proxy?: string | null;
  readonly defaults?: Partial<DownloadDefaults>;
  readonly appearance?: Partial<Appearance>;
  readonly trash?: Partial<TrashLimits>;
  readonly browserFolder?: boolean;
  readonly house?: boolean;
  readonly language?: string;
  /** null removes a value. */
  readonly preferences?: Readonly<Record<string, string | number | boolean | null>>;
}

/** The resolver that comes with Millrace: the user's own yt-dlp. Nothing but its name asks for it. */
export const YT_DLP: Resolver = {
  name: 'yt-dlp',
  args: ['yt-dlp'],
  patterns: [],
  seconds: 60,
  prints: 'yt-dlp',
};

export const DEFAULT_APPEARANCE: Appearance = { theme: 'system', density: 'comfortable' };

export const DEFAULT_DOWNLOADS: DownloadDefaults = {
  useEdges: true,
  connections: 32,
  sidecars: false,
};
