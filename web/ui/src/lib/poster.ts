/** What a film's picture is made of, while there is no real one: always the same for a title. */
export interface Poster {
  ground: string
  far: string
  near: string
  light: string
  motif: 'moon' | 'beams' | 'waves' | 'stairs' | 'window'
}

const palettes: Omit<Poster, 'motif'>[] = [
  { ground: '#2b1a3d', far: '#4d2a63', near: '#7c3c6b', light: '#f2b84b' },
  { ground: '#12263a', far: '#1f4360', near: '#2f6d80', light: '#f4d6a0' },
  { ground: '#3a1420', far: '#66203a', near: '#9b3447', light: '#f6c28b' },
  { ground: '#14302a', far: '#215044', near: '#3f7f62', light: '#f1e2a8' },
  { ground: '#2a2130', far: '#54405a', near: '#8a6a78', light: '#ffdcb0' },
  { ground: '#1d1f45', far: '#353b7c', near: '#6a5fae', light: '#f5c6d0' },
]
const motifs: Poster['motif'][] = ['moon', 'beams', 'waves', 'stairs', 'window']

/** posterOf chooses by a hash (FNV-1a) of the title. */
export function posterOf(title: string): Poster {
  let hash = 0x811c9dc5
  for (const sign of title) hash = Math.imul(hash ^ (sign.codePointAt(0) ?? 0), 0x01000193) >>> 0
  const palette = palettes[hash % palettes.length] ?? palettes[0]
  const motif = motifs[(hash >>> 8) % motifs.length] ?? 'moon'
  return { ...(palette as Omit<Poster, 'motif'>), motif }
}
