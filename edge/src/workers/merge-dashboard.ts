/** Merges the dashboard's figures of several processes. */

import { mergeRefusals } from '@millrace/shared/cdn/admission/refusal-log';
import { type FigureSteps, mergeSteps } from '@millrace/shared/cdn/figures/figure-history';
import { mergeCounts } from '@millrace/shared/cdn/figures/recent-counts';
import { mergeTopFiles } from '@millrace/shared/cdn/figures/top-files';
import { byRange, type DashboardPart, SHOWN_FILES, STEP_MS } from '../figures/dashboard-figures.ts';
import { mergeStatus } from './merge-status.ts';

/** The history if no process has answered. */
const NOTHING: FigureSteps = { stepMs: STEP_MS, first: 0, series: {} };

/** Merges the figures of all processes for the dashboard. @param name of the edge as a whole */
export function mergeDashboard(name: string, parts: readonly DashboardPart[]) {
  return {
    status: mergeStatus(
      name,
      parts.map(({ status }) => status),
    ),
    history: mergeSteps(parts.map(({ history }) => history)) ?? NOTHING,
    day: mergeSteps(parts.map(({ day }) => day)) ?? NOTHING,
    ranges: byRange((range) => ({
      files: mergeTopFiles(
        parts.map(({ ranges }) => ranges[range].files),
        SHOWN_FILES,
      ),
      errors: mergeCounts(parts.map(({ ranges }) => ranges[range].errors)),
    })),
    refused: mergeRefusals(parts.map(({ refused }) => ({ recent: [], clients: refused }))).clients,
  };
}
