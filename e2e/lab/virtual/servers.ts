/**
 * LOCI 4's six servers as its two clients saw them, according to the paper: megabits per second and
 * round trips in milliseconds, in the order in which the paper adds replicas. For the client in
 * Tennessee, the first three servers reach 39.5 together (4.2), and the fourth took 103 s for a
 * block of 2 MB (4.1). For the client in Santa Barbara, the second server is near, and with it the
 * client reaches about 50, and the fourth takes 7 s longer than others for such a block (4.1). The
 * other figures are chosen to fit.
 */

export interface Server {
  readonly id: string;
  readonly megabits: number;
  readonly rttMs: number;
}

export const CLIENTS: Readonly<Record<'Tennessee' | 'Santa Barbara', readonly Server[]>> = {
  Tennessee: [
    { id: 'texas', megabits: 14, rttMs: 30 },
    { id: 'santa-barbara', megabits: 13, rttMs: 60 },
    { id: 'harvard', megabits: 12.5, rttMs: 40 },
    { id: 'singapore', megabits: 0.16, rttMs: 250 },
    { id: 'tennessee', megabits: 50, rttMs: 1 },
    { id: 'amsterdam', megabits: 2, rttMs: 110 },
  ],
  'Santa Barbara': [
    { id: 'texas', megabits: 11, rttMs: 45 },
    { id: 'santa-barbara', megabits: 45, rttMs: 1 },
    { id: 'harvard', megabits: 8, rttMs: 80 },
    { id: 'singapore', megabits: 2, rttMs: 180 },
    { id: 'tennessee', megabits: 12, rttMs: 60 },
    { id: 'amsterdam', megabits: 4, rttMs: 150 },
  ],
};

export type ClientName = keyof typeof CLIENTS;
export const CLIENT_NAMES = Object.keys(CLIENTS) as ClientName[];
export const REPLICAS = [1, 2, 3, 4, 5, 6] as const;
