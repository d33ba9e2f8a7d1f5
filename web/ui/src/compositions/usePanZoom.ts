import { useElementSize, useEventListener } from '@vueuse/core'
import { computed, reactive, ref, watch, type Ref } from 'vue'
import { cell, type Hall } from '@/lib/hall'

/** A seat is drawn at most this wide, and a finger wants it this wide, in CSS pixels. */
const widestPitch = 84
const touchPitch = 46
const easyTouchPitch = 38
/** A pointer that went further than this, in pixels, was dragging. */
const dragFrom = 6

interface Point {
  x: number
  y: number
}

/**
 * Zooms and moves a hall inside a stage: wheel, two fingers, drag, and by word. At scale 1 the
 * whole hall fits; it never leaves the stage.
 */
export function usePanZoom(stage: Ref<HTMLElement | null>, hall: Ref<Hall>) {
  const { width, height } = useElementSize(stage)
  const view = reactive({ scale: 1, x: 0, y: 0 })
  /** The move is the page's own, and glides; a hand's moves follow the hand. */
  const gliding = ref(false)
  const dragging = ref(false)

  const fitScale = computed(() =>
    Math.min(width.value / hall.value.width, height.value / hall.value.height),
  )
  const most = computed(() => Math.max(1, widestPitch / (cell * fitScale.value)))
  const pitch = computed(() => cell * fitScale.value * view.scale)
  const box = computed(() => {
    const boxWidth = hall.value.width * fitScale.value
    const boxHeight = hall.value.height * fitScale.value
    return {
      width: boxWidth,
      height: boxHeight,
      left: (width.value - boxWidth) / 2,
      top: (height.value - boxHeight) / 2,
    }
  })
  const style = computed(() => ({
    width: `${box.value.width}px`,
    height: `${box.value.height}px`,
    transform: `translate(${view.x + box.value.left}px, ${view.y + box.value.top}px) scale(${view.scale})`,
  }))

  function place(scale: number, x: number, y: number): void {
    view.scale = Math.min(most.value, Math.max(1, scale))
    view.x = clamp(x, box.value.left, box.value.width * view.scale, width.value)
    view.y = clamp(y, box.value.top, box.value.height * view.scale, height.value)
  }

  /** Keeps a side inside the stage, or centred while it is the shorter one. */
  function clamp(at: number, offset: number, size: number, room: number): number {
    if (size <= room) return (room - size) / 2 - offset
    return Math.min(-offset, Math.max(room - size - offset, at))
  }

  /** Scales while the point under (x, y), in the stage's pixels, stays where it is. */
  function zoomAt(point: Point, scale: number): void {
    const { left, top } = box.value
    const bounded = Math.min(most.value, Math.max(1, scale))
    const inX = (point.x - left - view.x) / view.scale
    const inY = (point.y - top - view.y) / view.scale
    place(bounded, point.x - left - inX * bounded, point.y - top - inY * bounded)
  }

  function glide(move: () => void): void {
    gliding.value = true
    move()
  }

  function fit(): void {
    glide(() => place(1, 0, 0))
  }

  function zoomBy(factor: number): void {
    glide(() => zoomAt({ x: width.value / 2, y: height.value / 2 }, view.scale * factor))
  }

  /** Where a point of the hall is on the stage, in its pixels. */
  function onStage(point: Point): Point {
    const unit = fitScale.value * view.scale
    return {
      x: box.value.left + view.x + point.x * unit,
      y: box.value.top + view.y + point.y * unit,
    }
  }

  /** The point of the hall under a press. */
  function inHall(event: MouseEvent): Point {
    const at = pointOf(event)
    const unit = fitScale.value * view.scale
    return { x: (at.x - box.value.left - view.x) / unit, y: (at.y - box.value.top - view.y) / unit }
  }

  /** Brings a point of the hall to the middle, near enough for a finger. */
  function approach(point: Point): void {
    const scale = touchPitch / (cell * fitScale.value)
    const unit = fitScale.value * scale
    glide(() =>
      place(
        scale,
        width.value / 2 - box.value.left - point.x * unit,
        height.value / 2 - box.value.top - point.y * unit,
      ),
    )
  }

  /** Moves just as far as it takes to have a point of the hall well inside the stage. */
  function reveal(point: Point): void {
    const at = onStage(point)
    const edge = Math.min(pitch.value * 1.5, width.value / 3, height.value / 3)
    const byX = Math.max(edge - at.x, 0) + Math.min(width.value - edge - at.x, 0)
    const byY = Math.max(edge - at.y, 0) + Math.min(height.value - edge - at.y, 0)
    if (byX !== 0 || byY !== 0) glide(() => place(view.scale, view.x + byX, view.y + byY))
  }

  const fingers = new Map<number, Point>()
  let dragged = false

  function pointOf(event: MouseEvent): Point {
    const rect = stage.value?.getBoundingClientRect()
    return { x: event.clientX - (rect?.left ?? 0), y: event.clientY - (rect?.top ?? 0) }
  }

  useEventListener(stage, 'pointerdown', (event) => {
    if (event.button !== 0) return
    if (fingers.size === 0) dragged = false
    fingers.set(event.pointerId, pointOf(event))
  })
  useEventListener(window, 'pointermove', (event) => {
    const before = fingers.get(event.pointerId)
    if (!before) return
    const now = pointOf(event)
    if (!dragged && Math.hypot(now.x - before.x, now.y - before.y) < dragFrom) return
    if (!dragged) stage.value?.setPointerCapture(event.pointerId)
    dragged = dragging.value = true
    gliding.value = false
    if (fingers.size === 2) pinch(event.pointerId, before, now)
    else place(view.scale, view.x + now.x - before.x, view.y + now.y - before.y)
    fingers.set(event.pointerId, now)
  })
  useEventListener(window, ['pointerup', 'pointercancel'], (event) => {
    fingers.delete((event as PointerEvent).pointerId)
    if (fingers.size > 0) return
    dragging.value = false
    // The click that ends a drag comes before this; a click without a press comes after.
    setTimeout(() => (dragged = false))
  })
  // Not passive: the page must not scroll or zoom along.
  useEventListener(stage, 'wheel', onWheel, { passive: false })

  function pinch(id: number, before: Point, now: Point): void {
    const other = [...fingers].find(([finger]) => finger !== id)?.[1]
    if (!other) return
    const spread = Math.hypot(before.x - other.x, before.y - other.y) || 1
    const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 }
    zoomAt(middle, (view.scale * Math.hypot(now.x - other.x, now.y - other.y)) / spread)
    place(view.scale, view.x + (now.x - before.x) / 2, view.y + (now.y - before.y) / 2)
  }

  function onWheel(event: WheelEvent): void {
    event.preventDefault()
    gliding.value = false
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1
    zoomAt(pointOf(event), view.scale * Math.exp(-event.deltaY * lines * 0.0016))
  }

  // A stage that changed its size keeps the hall inside.
  watch([width, height, hall], () => {
    gliding.value = false
    place(view.scale, view.x, view.y)
  })

  return {
    style,
    pitch,
    width,
    gliding,
    dragging,
    zoomed: computed(() => view.scale > 1.01),
    atMost: computed(() => view.scale >= most.value - 0.01),
    /** Whether the press that just ended was a drag, and so no click. */
    wasDragged: () => dragged,
    tooSmallToTouch: () => pitch.value < easyTouchPitch,
    fit,
    zoomBy,
    approach,
    reveal,
    onStage,
    inHall,
  }
}
