const firstMs = 1_000
const growth = 1.5
const longestMs = 30_000

/**
 * How long to wait before connecting again, in milliseconds: up to 1 s after the first failure
 * (failures = 0), growing by half each time, up to 30 s. Full jitter: anywhere from 0 to that,
 * so that a house full of browsers doesn't come back in one instant.
 */
export function reconnectDelay(failures: number, random: () => number = Math.random): number {
  return random() * Math.min(longestMs, firstMs * growth ** failures)
}

const firstRetryMs = 400
const longestRetryMs = 6_000

/**
 * How long to wait before a command is sent again, in milliseconds: doubling from 400 ms to 6 s,
 * at least half of it, the rest by chance.
 */
export function retryDelay(tries: number, random: () => number = Math.random): number {
  const most = Math.min(longestRetryMs, firstRetryMs * 2 ** tries)
  return most * (0.5 + random() / 2)
}
